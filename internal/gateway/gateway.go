// Package gateway is the HTTP side: it serves the events of a session as SSE,
// takes inputs and interrupts, repairs histories, and shows the page.
//
// It promises:
//   - A stream gives every event of its session after the client's cursor, in
//     the order of the log and without duplicate, first those stored, then
//     those that come. A cursor the log no longer reaches back to is refused,
//     never skipped over.
//   - A client that does not read is disconnected within the write time-out
//     and resumes where it was; it holds up nobody else.
//   - An input is answered 202 after it is stored, and forwarded as it came.
//   - A web page of another origin can neither read nor write, also when it
//     reaches a gateway on loopback or plays tricks with DNS.
//   - Bodies, headers, waiting and the number of streams are bounded.
//
// A crash loses nothing: the gateway keeps no state but open connections.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/repair"

	"github.com/rs/zerolog"
)

// Errors a Store answers with where the gateway is to tell more than that
// something failed.
var (
	// ErrTooLarge is an input above the store's limit.
	ErrTooLarge = errors.New("gateway: too large")
	// ErrFull is an input that is not stored because the log has as many bytes
	// as it may have.
	ErrFull = errors.New("gateway: input log is full")
	// ErrNotOpen is an input that came before inputs are taken.
	ErrNotOpen = errors.New("gateway: not open for inputs yet")
)

// Store is what the gateway needs of the two logs. Its methods are called from
// many goroutines. A token is what events.Token makes of a session.
type Store interface {
	// Tail calls fn with the events of a session after sequence after: the
	// history with live false, then once fn(events.Record{}, true), then what comes.
	// It returns fn's error or ctx's; any other means the log cannot be read.
	Tail(ctx context.Context, token string, after uint64, fn func(e events.Record, live bool) error) error
	// Publish stores an input of a kind (delta, result, progress, interrupt,
	// end) and gives its sequence. The same msgID twice is stored once.
	Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (seq uint64, err error)
	// Sessions lists at most limit sessions that have events, newest first.
	Sessions(ctx context.Context, limit int) ([]SessionInfo, error)
	// Event reads one event of a session: events.ErrNotFound if it is not stored.
	Event(ctx context.Context, token string, seq uint64) (events.Record, error)
	// Blob reads a large value: events.ErrNotFound if it is not stored.
	Blob(ctx context.Context, ref events.Ref) ([]byte, error)
	// EventBounds gives the sequences of the first and last event of the log;
	// of an empty log first is last + 1.
	EventBounds(ctx context.Context) (first, last uint64, err error)
	// Ready says in words what does not work.
	Ready(ctx context.Context) error
	// MaxPayload is the largest input in bytes, headers included.
	MaxPayload() int
}

// SessionInfo is a line in the list of sessions.
type SessionInfo struct {
	Session string
	Last    time.Time // of its last event
	Open    int       // calls without a result
}

// Options are the gateway's settings. The zero value serves loopback names
// without authentication.
type Options struct {
	// Exposed says that others than this machine can connect. Then a Token is
	// required, and a Host that is an IP address is accepted.
	Exposed bool
	// Token is what clients must show, at least 16 bytes. If "", all may in.
	Token string
	// Hosts are the names, without port, by which the gateway may be reached
	// besides loopback ones.
	Hosts []string
	// Origins are the foreign origins that may read and write, such as
	// "https://app.example.com".
	Origins []string

	// Warnings gives what GET /readyz tells beside that all works, in words; it
	// must not wait. If nil, nothing.
	Warnings func() []string
	// Metrics gives what GET /metrics tells besides the gateway's own numbers.
	// If nil, nothing.
	Metrics func(ctx context.Context) []Metric

	// Repairs answers POST /v1/repair. If nil, there is no such thing.
	Repairs *repair.Service

	MaxClients   int           // open streams; if zero, 10,000
	MaxBody      int           // bytes of an input; if zero, the store's limit less 4 KiB
	Heartbeat    time.Duration // silence before a heartbeat; if zero, 15 s
	WriteTimeout time.Duration // for one write to a client; if zero, 10 s
	ReadTimeout  time.Duration // for a request's headers, and for its body; if zero, 15 s
	StoreTimeout time.Duration // for one question to the store; if zero, 10 s
	Grace        time.Duration // in which open streams are ended when Run stops; if zero, 5 s
}

const (
	minToken      = 16
	payloadMargin = 4 << 10 // what the headers of an input take at most
)

func (o Options) withDefaults(maxPayload int) Options {
	o.MaxClients = orDefault(o.MaxClients, 10_000)
	o.MaxBody = orDefault(o.MaxBody, maxPayload-payloadMargin)
	o.Heartbeat = orDefault(o.Heartbeat, 15*time.Second)
	o.WriteTimeout = orDefault(o.WriteTimeout, 10*time.Second)
	o.ReadTimeout = orDefault(o.ReadTimeout, 15*time.Second)
	o.StoreTimeout = orDefault(o.StoreTimeout, 10*time.Second)
	o.Grace = orDefault(o.Grace, 5*time.Second)
	return o
}

func orDefault[T int | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// Gateway is an http.Handler. It serves until Run, if that is called, stops.
type Gateway struct {
	opts    Options
	store   Store
	log     zerolog.Logger
	gate    gate
	key     key
	page    map[string]asset
	routes  *http.ServeMux
	streams streams
	counts  counts
	outage  atomic.Int64 // when it was logged that the logs do not answer, Unix nanoseconds
	buffers sync.Pool    // of *[]byte, for frames on their way
}

// New makes a gateway over store that shows page (none if nil) at /. It
// refuses to be exposed without a token.
func New(opts Options, store Store, page fs.FS, log zerolog.Logger) (*Gateway, error) {
	if opts.Exposed && opts.Token == "" {
		return nil, errors.New("gateway: listening beyond loopback needs a token")
	}
	if opts.Token != "" && len(opts.Token) < minToken {
		return nil, fmt.Errorf("gateway: the token has %d bytes, fewer than %d", len(opts.Token), minToken)
	}
	opts = opts.withDefaults(store.MaxPayload())
	if opts.MaxBody <= 0 {
		return nil, fmt.Errorf("gateway: a body limit of %d bytes (the store takes %d) leaves no room for inputs", opts.MaxBody, store.MaxPayload())
	}
	gate, err := newGate(opts)
	if err != nil {
		return nil, err
	}
	assets, err := readPage(page)
	if err != nil {
		return nil, err
	}
	g := &Gateway{opts: opts, store: store, log: log, gate: gate, key: newKey(opts.Token), page: assets}
	g.streams.max = opts.MaxClients
	g.buffers.New = func() any { return new([]byte) }
	g.routes = g.newRoutes()
	return g, nil
}

// kinds are the inputs there are: the word in the URL, and the kind in the
// subject.
var kinds = [...]struct {
	path string
	kind inputs.Kind
}{
	{"deltas", inputs.Delta},
	{"results", inputs.Result},
	{"progress", inputs.Progress},
	{"interrupt", inputs.Interrupt},
	{"end", inputs.End},
}

// newRoutes lists what there is. Methods are checked by us and not by the
// mux, whose refusals are no JSON.
func (g *Gateway) newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	api := func(path, methods string, h handler) {
		mux.HandleFunc(path, g.only(methods, g.guarded(h)))
	}
	api("/v1/sessions", "GET", g.sessions)
	api("/v1/sessions/{session}/events", "GET", g.events)
	api("/v1/sessions/{session}/events/{seq}", "GET", g.event)
	api("/v1/sessions/{session}/events/{seq}/{part}", "GET", g.part)
	for _, k := range kinds {
		api("/v1/sessions/{session}/"+k.path, "POST", g.ingest(k.kind))
	}
	if g.opts.Repairs != nil {
		api("/v1/repair", "POST", g.repair)
	}
	api("/metrics", "GET", g.metrics)
	mux.HandleFunc("/v1/login", g.only("POST", g.checked(g.login)))
	mux.HandleFunc("/healthz", g.only("GET", g.healthz))
	mux.HandleFunc("/readyz", g.only("GET", g.readyz))
	mux.HandleFunc("/", g.checked(g.serveAsset))
	return mux
}

// ServeHTTP answers a request and logs one line about it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	rec := &recorder{ResponseWriter: w}
	rc := http.NewResponseController(w)
	// A connection keeps its deadlines from one request to the next, so each
	// begins with its own. Recorders and other writers without deadlines are
	// served without.
	_ = rc.SetReadDeadline(start.Add(g.opts.ReadTimeout))
	_ = rc.SetWriteDeadline(start.Add(g.opts.ReadTimeout + g.opts.StoreTimeout + g.opts.WriteTimeout))
	h := rec.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	g.routes.ServeHTTP(rec, r)
	g.counts.answered(rec.status)
	g.log.Debug().Str("method", r.Method).Str("path", r.URL.Path).Int("status", rec.status).
		Int64("bytes", rec.bytes).Dur("took", time.Since(start)).Msg("request")
}

// only refuses other methods than the named one; HEAD goes where GET goes.
func (g *Gateway) only(method string, h http.HandlerFunc) http.HandlerFunc {
	allow := method + ", OPTIONS"
	if method == "GET" {
		allow = "GET, HEAD, OPTIONS"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case method:
		case http.MethodHead:
			if method != http.MethodGet {
				refuseMethod(w, r, allow)
				return
			}
		case http.MethodOptions:
			g.preflight(w, r, allow)
			return
		default:
			refuseMethod(w, r, allow)
			return
		}
		h(w, r)
	}
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	replyError(w, http.StatusMethodNotAllowed, fmt.Sprintf("%s is not allowed here, only %s", r.Method, strings.Split(allow, ",")[0]))
}

// handler serves a request that may come in; what it returns is told to the
// client.
type handler func(w http.ResponseWriter, r *http.Request) error

// checked lets h serve what comes from where it may.
func (g *Gateway) checked(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := g.gate.check(w, r); err != nil {
			g.fail(w, r, err)
			return
		}
		if err := h(w, r); err != nil {
			g.fail(w, r, err)
		}
	}
}

// guarded lets h serve what besides shows the token, where there is one.
func (g *Gateway) guarded(h handler) http.HandlerFunc {
	return g.checked(func(w http.ResponseWriter, r *http.Request) error {
		if err := g.key.check(w, r); err != nil {
			return err
		}
		return h(w, r)
	})
}
