package tap

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/rs/zerolog"
)

// Prefix is the beginning of the paths that the tap serves: /tap/<upstream>/<path of the API>.
const Prefix = "/tap/"

// HeaderToken has the token of a client of the tap, where one is required: the header
// Authorization is for the upstream. It is not passed on.
const HeaderToken = "Streamer-Token"

// Options are the settings of a tap.
type Options struct {
	Upstreams []Upstream
	// Repair repairs histories that the upstream would refuse; HeaderRepair in the answer says
	// what was done.
	Repair bool
	// ReadOn reads an answer to its end, for the log, when the client has left.
	ReadOn bool
	// SessionPath is the path of a member of the body that names the session, such as
	// metadata.thread; "" for none.
	SessionPath string

	// Publish stores an input once per message id, as gateway.Store does.
	Publish func(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (seq uint64, repeated bool, err error)
	// Calls calls fn with the ids of the calls that a session has had.
	Calls func(ctx context.Context, token string, fn func(id string)) error
	// Known reports whether a session has events.
	Known func(ctx context.Context, token string) (bool, error)
	// LastHuman returns the last text of a person in a session, or its end.
	LastHuman func(ctx context.Context, token string) (string, error)
	// Follow calls fn with the events of a type of all sessions and their sequences, in order
	// and until ctx ends. It calls fn(nil, 0) once, when it has read those that are stored. If
	// Follow is nil, nothing can be stopped.
	Follow func(ctx context.Context, typ events.Type, fn func(e *events.Event, seq uint64)) error
	Log    zerolog.Logger
	// AWS are the credentials for requests that clients signed for the host of the tap; if nil,
	// these are refused.
	AWS aws.CredentialsProvider
	// Patience is the time after which an input that cannot be published is lost; if zero,
	// 90 s: a repeated input is recognised for 2 min.
	Patience time.Duration
	// Transport sends the requests; if nil, one that changes nothing.
	Transport http.RoundTripper
}

// Tap is an http.Handler for the paths that begin with Prefix.
type Tap struct {
	opts     Options
	sessions *sessions
	holds    holds
	routes   map[string]*route
	memory   atomic.Int64 // bytes of copies that wait
	kept     atomic.Int64 // bytes of answers that are kept while they arrive
	lost     atomic.Int64 // bytes of copies that are lost
	lastLoss atomic.Int64 // Unix seconds
	open     sync.WaitGroup

	following sync.WaitGroup  // readers of the log
	ctx       context.Context //nolint:containedctx // of publishing, which goes on after the requests
	stop      context.CancelFunc
	ending    atomic.Bool
}

// route is an upstream and its proxy.
type route struct {
	Upstream
	proxy *httputil.ReverseProxy
}

// New returns a tap. The caller closes it.
func New(o Options) (*Tap, error) {
	if o.Patience == 0 {
		o.Patience = 90 * time.Second
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	t := &Tap{opts: o, sessions: newSessions(), routes: map[string]*route{}}
	t.ctx, t.stop = context.WithCancel(context.Background())
	for _, u := range o.Upstreams {
		if t.routes[u.Name] != nil {
			return nil, fmt.Errorf("the upstream %s is listed twice", u.Name)
		}
		t.routes[u.Name] = t.newRoute(u)
	}
	t.follow()
	return t, nil
}

// Close waits until the copies of all answers that have ended are published, at most until
// ctx ends.
func (t *Tap) Close(ctx context.Context) {
	t.ending.Store(true)
	done := make(chan struct{})
	go func() {
		t.open.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	t.stop()
	t.following.Wait()
}

// Names returns the names of the upstreams, in the order of the options.
func (t *Tap) Names() []string {
	var names []string
	for _, u := range t.opts.Upstreams {
		names = append(names, u.Name)
	}
	return names
}

// Sessions returns the sessions that the tap has published to, in the order of their first
// requests.
func (t *Tap) Sessions() []string { return t.sessions.names() }

// Warnings returns what is wrong, for GET /readyz.
func (t *Tap) Warnings() []string {
	lost := t.lost.Load()
	if lost == 0 || time.Since(time.Unix(t.lastLoss.Load(), 0)) > time.Hour {
		return nil
	}
	return []string{fmt.Sprintf("the tap lost %d bytes of copies in all, the last within the hour: the log has the reasons", lost)}
}

// lose counts what is lost. The log has one line per minute at most.
func (t *Tap) lose(n int, why error) {
	t.lost.Add(int64(n))
	now := time.Now().Unix()
	if last := t.lastLoss.Swap(now); now-last >= 60 {
		t.opts.Log.Warn().Err(why).Int("bytes", n).Msg("a part of a copy is lost; the answer itself was passed on")
	}
}

// ServeHTTP passes a request on.
func (t *Tap) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), Prefix), "/")
	up := t.routes[name]
	if name == "" {
		writeJSON(w, http.StatusOK, map[string]any{"upstreams": t.Names()})
		return
	}
	if up == nil {
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no upstream %.40q; the tap has %s", name, strings.Join(t.Names(), ", ")))
		return
	}
	if why := navigation(r.Header); why != "" {
		refuse(w, http.StatusForbidden, why)
		return
	}
	rest := strings.TrimPrefix(r.URL.EscapedPath(), Prefix+name)
	if up.leaves(rest) {
		refuse(w, http.StatusBadRequest, "the path leaves that of the upstream "+name+", "+up.URL.EscapedPath())
		return
	}
	sent := &sentBody{ReadCloser: r.Body}
	if r.Body == http.NoBody {
		sent.ended.Store(true)
	} else {
		r.Body = sent
	}
	aw := &answerWriter{ResponseWriter: w, sent: sent}
	rc := http.NewResponseController(w)
	// Without full duplex the server closes a body that the transport still reads, and an
	// answer that comes fast is cut (https://go.dev/issue/40747).
	_ = rc.EnableFullDuplex()
	_ = rc.SetReadDeadline(time.Time{})
	_ = rc.SetWriteDeadline(time.Time{})
	t.holds.await(r.Context())
	x := t.begin(up, r, up.path(rest))
	if h := x.gate(r); h != nil {
		x.end(errStopped)
		x.answerHeld(aw, r, h)
		return
	}
	refusal := x.prepare(r)
	aw.repairs = x.repairs
	if refusal != "" {
		refuse(aw, http.StatusBadRequest, refusal)
		x.end(errCut)
		return
	}
	defer x.end(errLeft) // also when the proxy gives up in a panic
	ctx := context.WithValue(r.Context(), exchangeKey{}, x)
	if t.opts.ReadOn {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	if !t.opts.ReadOn {
		defer cancel()
	}
	if h := x.proceed(cancel); h != nil {
		x.end(errStopped)
		x.answerHeld(aw, r, h)
		return
	}
	up.proxy.ServeHTTP(aw, r.WithContext(ctx))
}

// exchangeKey is the key of the exchange in the context of a request.
type exchangeKey struct{}

func exchangeIn(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}
