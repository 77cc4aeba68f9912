package tap

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"streamer/internal/events"
	"streamer/internal/final"
	"streamer/internal/inputs"

	"github.com/tidwall/gjson"
)

// exchange is a request and its answer. The proxy fills its queues, and one goroutine reads
// them and publishes.
type exchange struct {
	tap      *Tap
	up       *route
	path     string // escaped, at the upstream
	endpoint *endpoint
	header   http.Header // of the request
	scope    string
	repairs  string                    // what was repaired, for the answer's header
	resign   func(*http.Request) error // signs the outgoing request, or nil
	reserved int                       // bytes of memory of what was prepared

	// Of stops, see halt.go. What a goroutine finds out is valid when known is closed.
	gated  bool                  // something is stopped: the request waits for its place
	since  uint64                // the last hold when the request came
	sse    bool                  // the query asks for a stream of SSE
	on     *socket               // that the answer is on; nil for an answer of HTTP
	late   bool                  // nothing passes this request on: its connection is taken over
	known  chan struct{}         // closed when the place is known, or never will be
	at     atomic.Pointer[place] // where the request belongs
	want   final.Request         // the answer that it asks for
	unread *final.Request        // likewise, where it was not read in time; set before known is closed
	spoken string                // the message of a person that it ends with, "" if it has no new one
	fresh  bool                  // the tap does not know its conversation
	unsure bool                  // it may be of another conversation that began alike
	back   []string              // ids of the calls whose results it brings
	said   string                // text of an answer that was ended
	length int64                 // of the answer, -1 if it is not stated
	mu     sync.Mutex
	halted *hold              // that ended the answer
	cancel context.CancelFunc // of the request to the upstream

	in       *whole
	out      *queue
	answered chan struct{} // closed when status and encoding are known, or never will be
	readsOn  bool          // the client left, and the answer is read to its end
	once     sync.Once
	status   int
	kind     string // content type of the answer
	encoding string // content encoding of the answer

	id   string // of its inputs
	sent int
	done chan struct{} // closed when all is published
}

// begin begins the exchange of a request. One that asks for no message is not read.
func (t *Tap) begin(up *route, r *http.Request, path string) *exchange {
	x := &exchange{tap: t, up: up, path: path, endpoint: endpointOf(path)}
	x.in, x.out = newWhole(r.ContentLength, &t.memory), newQueue(maxWaiting, &t.memory, &t.kept)
	x.answered, x.known = make(chan struct{}), make(chan struct{})
	upgrade := r.Header.Get("Upgrade") != ""
	switch {
	case x.endpoint == nil, !upgrade && (r.Method != http.MethodPost || r.Body == http.NoBody), t.ending.Load():
		x.endpoint = nil
	case t.sessions.size() >= maxOpen: // too many to publish
		x.endpoint = nil
		t.lose(1, errLost)
	default:
		x.header, x.scope, x.id, x.sse = r.Header.Clone(), scopeOf(up.Name, r), rand.Text(), r.URL.Query().Get("alt") == "sse"
	}
	if x.endpoint == nil || upgrade { // each message of a WebSocket has an exchange of its own
		x.in.drop()
		x.out.drop()
		return x
	}
	r.Body = &copied{ReadCloser: r.Body, to: x.in, fail: func(error) error { return errCut }}
	x.gated, x.since = t.holds.size.Load() > 0, t.holds.seen()
	x.start()
	return x
}

func (x *exchange) start() {
	x.done = make(chan struct{})
	before := x.tap.sessions.enter(x)
	x.tap.open.Go(func() {
		defer x.in.drop()
		defer x.out.drop()
		defer close(x.done)
		defer x.tap.sessions.leave(x)
		x.run(before)
	})
}

// scopeOf returns a digest of the credentials of a client. It keeps the conversations of
// clients apart that the tap has to name.
func scopeOf(upstream string, r *http.Request) string {
	h := sha256.New()
	h.Write([]byte(upstream))
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		h.Write([]byte("\x00" + r.Header.Get(name)))
	}
	h.Write([]byte(r.URL.Query().Get("key")))
	return string(h.Sum(nil))
}

// answer states the status and the form of the answer.
func (x *exchange) answer(status int, h http.Header) {
	x.once.Do(func() {
		x.status, x.kind, x.encoding = status, h.Get("Content-Type"), strings.Join(h.Values("Content-Encoding"), ",")
		close(x.answered)
	})
}

// end ends the copies, where nothing has ended them before.
func (x *exchange) end(why error) {
	x.tap.memory.Add(-int64(x.reserved))
	x.reserved = 0
	x.in.close(why)
	if !x.readsOn {
		x.out.close(why)
	}
	x.answer(0, nil)
}

// run publishes what the request adds to its conversation, and then the answer. The request
// may follow an answer that has ended but is not published yet: that comes first. before has
// the exchanges that began earlier.
func (x *exchange) run(before []*exchange) {
	r, ok := x.request()
	if ok {
		x.locate(r, before)
	}
	close(x.known)
	if !ok || r.apart {
		return
	}
	if x.late {
		if <-x.answered; x.halted == nil {
			return
		}
	}
	publishedFirst(before, nil)
	l := x.take(r)
	defer func() { l.turn <- struct{}{} }()
	x.publishNews(l, r)
	x.in.drop()
	<-x.answered
	if x.status/100 == 2 {
		x.publishAnswer(l)
	}
}

// publishedFirst waits until the answers that have ended are published, or until a time.
func publishedFirst(before []*exchange, limit <-chan time.Time) {
	for _, y := range before {
		if ended, _ := y.out.ended(); ended {
			select {
			case <-y.done:
			case <-limit:
				return
			}
		}
	}
}

// locate finds out where a request belongs. A hold that came meanwhile stops it.
func (x *exchange) locate(r *request, before []*exchange) {
	if r.session == "" {
		var limit <-chan time.Time
		if x.gated {
			limit = time.After(placing / 2)
		}
		publishedFirst(before, limit)
	}
	l := x.line(r)
	x.want = r.want
	x.spoken, x.back = x.tap.sessions.speaks(l, r)
	x.fresh = x.tap.sessions.isNew(l)
	x.unsure = x.fresh && r.session == "" && !r.begins() && x.hasTwin(l)
	x.at.Store(&l.place)
	x.tap.sessions.share(l, r, x)
	if h := x.tap.holds.of(&l.place); h != nil && !x.gated && !x.tap.Shared(l.session) {
		x.halt(h)
	}
}

// request reads the request. It reports false where the request is no message of a
// conversation, or cannot be read. One that is too large is known by its header alone.
func (x *exchange) request() (*request, bool) {
	body, err := x.in.read(strings.Join(x.header.Values("Content-Encoding"), ","))
	switch {
	case errors.Is(err, errLost):
		x.tap.lose(x.in.seen, err)
		r := x.requestOf(nil)
		r.unread = x.in.seen
		return r, true
	case errors.Is(err, errCut), errors.Is(err, errLeft), errors.Is(err, io.EOF) && !gjson.ValidBytes(body):
		return nil, false
	case !errors.Is(err, io.EOF):
		x.tap.lose(1, err) // the copy cannot be decompressed
		return nil, false
	}
	return x.requestOf(body), true
}

// requestOf returns the request of a body. Its items refer to the body.
func (x *exchange) requestOf(body []byte) *request {
	v := gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body))) // the body does not change
	return &request{
		identity: identify(x.header, v, x.tap.opts.SessionPath), upstream: x.up.Name, scope: x.scope,
		system: instructions(v), items: itemsOf(x.endpoint.shape, v), want: x.wanted(v),
	}
}

// siblingAfter is the time after which a request whose conversation still has a stream is
// one beside it.
const siblingAfter = time.Second

// take waits for the line of a request. A request beside another one that streams gets a
// line of its own.
func (x *exchange) take(r *request) *line {
	for {
		l := x.line(r)
		select {
		case <-l.turn:
			x.tap.sessions.hold(l, x)
			x.at.Store(&l.place)
			return l
		case <-time.After(siblingAfter):
		}
		if x.tap.sessions.streams(l) {
			l = x.tap.sessions.beside(l, x.id[:8])
			x.at.Store(&l.place)
			return l
		}
	}
}

// line returns the line of a request. A conversation that begins gets a session of its own,
// also where one of that name was begun before the tap was started.
func (x *exchange) line(r *request) *line {
	l := x.tap.sessions.line(r)
	for r.begins() && x.tap.opts.Known != nil && x.tap.sessions.isNew(l) {
		token, err := events.Token(l.session)
		if err != nil {
			break
		}
		if known, err := x.tap.opts.Known(x.tap.ctx, token); err != nil || !known {
			break
		}
		x.tap.sessions.occupied(l)
		l = x.tap.sessions.line(r)
	}
	return l
}

// hasTwin reports whether another conversation began like one whose session the tap named.
// After a restart it does not know which of them a request goes on with.
func (x *exchange) hasTwin(l *line) bool {
	token, err := events.Token(l.session + "-2")
	if err != nil || x.tap.opts.Known == nil || x.tap.holds.size.Load() == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(x.tap.ctx, placing/2)
	defer cancel()
	known, err := x.tap.opts.Known(ctx, token)
	return known || err != nil
}

// publishNews publishes the results and human messages that a request adds.
func (x *exchange) publishNews(l *line, r *request) {
	if r.unread > 0 {
		x.publishUnread(l, r.unread)
		return
	}
	x.load(l, r)
	items, keys := x.tap.sessions.news(l, r)
	for i := range items {
		it := &items[i]
		id := hex.EncodeToString([]byte(traceOf(l.key(), "item", keys[i]))) // the same for a repetition, also after a restart
		publish := func(it *item) error {
			if it.role == result {
				return x.publish(l, inputs.Result, id, nil, it.input())
			}
			// Each format has its own form of a human message; that of openai-chat is read in all
			// sessions.
			return x.publish(l, inputs.Delta, id, inputs.Header{inputs.HeaderFormat: {"openai-chat"}}, humanMessage(it.text))
		}
		named := it.role == human || len(it.ids) > 0
		if tooLong := named && max(len(it.raw), len(it.text)) > maxItem; tooLong || errors.Is(publish(it), inputs.ErrTooLarge) && named {
			_ = publish(it.shortened()) // the call must not stay open
		}
	}
}

// publishUnread publishes that a request was too large to be read, as a message of its own.
func (x *exchange) publishUnread(l *line, size int) {
	text, _ := json.Marshal(fmt.Sprintf("(streamer: the tap passed on a request of %d bytes without reading it, as its copy did not fit. Results and messages in it are missing here.)", size)) // cannot fail
	_ = x.publish(l, inputs.Delta, x.next(), inputs.Header{inputs.HeaderFormat: {"openai-chat"}}, fmt.Appendf(nil,
		`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, text))
}

// load reads which calls a session had before the tap knew it.
func (x *exchange) load(l *line, r *request) {
	if l.loaded || x.tap.opts.Calls == nil || !slices.ContainsFunc(r.items, func(it item) bool { return it.role == result }) {
		return
	}
	token, err := events.Token(l.session)
	if err != nil {
		return
	}
	var ids []string
	if err := x.tap.opts.Calls(x.tap.ctx, token, func(id string) { ids = append(ids, id) }); err != nil {
		return // results of unknown calls are published
	}
	x.tap.sessions.addCalls(l, ids)
}

// publishAnswer publishes the answer as it arrives.
func (x *exchange) publishAnswer(l *line) {
	header := inputs.Header{inputs.HeaderFormat: {x.endpoint.format}}
	var a answer
	var held []byte
	begun, stored := false, false
	err := x.pieces(func(piece []byte) bool {
		a.read(piece, x.endpoint.format)
		held = append(held, piece...)
		if !a.begun && len(held) < maxPiece {
			return true // an attempt that ends here is no message
		}
		begun = true
		piece, held = held, nil
		ok := x.publish(l, inputs.Delta, x.next(), header, piece) == nil
		stored = stored || ok
		return ok
	})
	if errors.Is(err, io.EOF) && len(held) > 0 {
		begun = x.publish(l, inputs.Delta, x.next(), header, held) == nil
	}
	switch {
	case errors.Is(err, errStopped):
		x.tap.sessions.recordStopped(l, x.scope, &a, x.said, x.halted.text)
	case begun:
		switch cut := errors.Is(err, errLeft) || errors.Is(err, errCut); {
		case a.whole && cut:
			err = io.EOF // clients leave behind the last event, without waiting for the end of the body
		case !a.whole && errors.Is(err, io.EOF) && x.statesEnd():
			err = errCut // a body without a length
		}
		x.tap.sessions.record(l, x.scope, &a, errors.Is(err, io.EOF))
		x.finish(l, err, stored)
	}
}

// statesEnd reports whether each answer in this form has an event at its end, at whatever
// server.
func (x *exchange) statesEnd() bool {
	return strings.HasPrefix(x.kind, "text/event-stream") && (x.endpoint.format == "anthropic" || x.endpoint.format == "openai-responses")
}

// Bounds of the time between two inputs of an answer. What arrives meanwhile is one input:
// the copy leaves the processor to the originals.
const (
	minPace = 50 * time.Millisecond
	perOpen = 10 * time.Millisecond // for each open exchange
	maxPace = 200 * time.Millisecond
)

// pieces calls fn with the whole events of the answer as they arrive. It returns why the
// answer ended: io.EOF, errLeft, errCut or errLost.
func (x *exchange) pieces(fn func(piece []byte) bool) error {
	src, err := decoded(x.out, x.encoding, maxDecoded)
	if err != nil {
		return x.endOf(err)
	}
	src = shortened(src, x.kind)
	whole := framing(x.kind)
	buf := make([]byte, 32<<10)
	var rest []byte
	for {
		n, err := src.Read(buf)
		seen := len(rest)
		rest = append(rest, buf[:n]...)
		cut := whole(rest, seen)
		switch {
		case errors.Is(err, io.EOF) && len(rest) > cut:
			rest = append(rest, "\n\n"...) // the end of the text ends its last event
			cut = len(rest)
		case cut == 0 && len(rest) >= maxPiece:
			cut = len(rest)
		}
		for cut > 0 {
			n := betweenCharacters(rest, min(cut, maxPiece))
			if n == 0 { // the rest of a character follows
				break
			}
			if !fn(slices.Clone(rest[:n])) {
				return errLost
			}
			rest, cut = rest[n:], cut-n
		}
		if err != nil {
			return x.endOf(err)
		}
		if x.out.empty() {
			pace := min(max(minPace, time.Duration(x.tap.sessions.size())*perOpen), maxPace)
			time.Sleep(pace/2 + mrand.N(pace))
		}
	}
}

// endOf returns why the answer ended, for the error of reading it: where it is compressed,
// the error is often another one.
func (x *exchange) endOf(err error) error {
	for _, end := range []error{io.EOF, errLeft, errCut, errLost, errStopped} {
		if errors.Is(err, end) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return end
		}
	}
	if why := x.out.reason(); errors.Is(why, errLeft) || errors.Is(why, errCut) || errors.Is(why, errStopped) {
		return why
	}
	x.tap.lose(1, err) // the copy cannot be decompressed
	return errLost
}

// lossOf is the message that states a loss, where nothing of the answer is stored.
const (
	lossOf  = `{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n"
	lossHas = `{"error":{"message":"The rest of this answer is missing here: the tap could not publish it. The client got it.","code":"tap_loss"}}`
)

// finish publishes how an answer ended that is not whole.
func (x *exchange) finish(l *line, why error, stored bool) {
	switch {
	case errors.Is(why, errLeft):
		_ = x.publish(l, inputs.End, x.next(), nil, []byte(`{"reason":"cancelled"}`))
	case errors.Is(why, errCut):
		_ = x.publish(l, inputs.End, x.next(), nil, []byte(`{"reason":"error"}`))
	case errors.Is(why, errLost):
		_, lost := x.out.ended()
		x.tap.lose(max(lost, 1), why)
		text := lossHas
		if !stored {
			text = lossOf + lossHas
		}
		_ = x.publish(l, inputs.Delta, x.next(), inputs.Header{inputs.HeaderFormat: {"openai-chat"}}, []byte(text))
	}
}
