package tap

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"streamer/internal/events"
	"streamer/internal/final"

	"github.com/tidwall/gjson"
)

// errStopped is the end of the copy of an answer that a hold ended.
var errStopped = errors.New("the session was stopped")

// Times of a stop.
const (
	// restOfEvent bounds how long the rest of an event is read whose beginning the client has.
	restOfEvent = 250 * time.Millisecond
	// placing bounds how long a request waits until it is known where it belongs, while
	// anything is stopped.
	placing = 2 * time.Second
)

func newID() string { return rand.Text() }

// wanted returns the answer that a request asks for.
func (x *exchange) wanted(body gjson.Result) final.Request {
	r := final.Request{
		Format: x.endpoint.format, Type: final.JSON, Model: strings.Clone(body.Get("model").Str), ID: newID(), Time: time.Now().Unix(),
		Repairs: strings.Contains(x.header.Get("User-Agent"), "langchain"), // LangChain runs what is cut
		Usage:   body.Get("stream_options.include_usage").Bool(), Inner: body.Get("request").IsObject(),
	}
	stream := body.Get("stream")
	_, method, _ := strings.Cut(x.path[strings.LastIndexByte(x.path, '/')+1:], ":")
	switch {
	case x.on != nil:
		r.Type = final.Lines
	case strings.HasSuffix(x.path, "-stream"):
		r.Type = final.Amazon
	case r.Format == "gemini" && method == "streamGenerateContent":
		if r.Type = final.Array; x.sse {
			r.Type = final.SSE
		}
	case r.Format == "ollama" && stream.Type != gjson.False:
		r.Type = final.Lines
	case stream.Bool(), method == "streamRawPredict", !body.Exists():
		r.Type = final.SSE
	}
	if _, rest, ok := strings.Cut(x.path, "/models/"); ok && r.Model == "" {
		r.Model, _, _ = strings.Cut(rest, ":")
	}
	return r
}

// typeOf returns the type of the answer that arrives.
func (x *exchange) typeOf() string {
	switch kind := mediaType(x.kind); {
	case kind == final.JSON && x.want.Type == final.Array:
		return final.Array
	case kind == "application/jsonl", kind == "application/x-jsonlines":
		return final.Lines
	case kind == final.SSE, kind == final.Lines, kind == final.Amazon:
		return kind
	}
	return final.JSON
}

// gate returns what holds a request, before anything of it is passed on; nil if nothing does.
// Its body is read as a whole while anything is stopped.
func (x *exchange) gate(r *http.Request) *hold {
	if !x.gated {
		return nil
	}
	most := r.ContentLength
	if most < 0 {
		most = maxChunked
	}
	if most > maxRequest || !reserve(&x.tap.memory, int(most)) {
		return x.heldUnread(r)
	}
	x.reserved += int(most)
	body, _ := io.ReadAll(io.LimitReader(r.Body, most+1)) // an error comes again
	r.Body = &joined{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	select {
	case <-x.known:
		return x.held(r.Context())
	case <-time.After(placing):
	case <-r.Context().Done():
	}
	return x.heldUnread(r)
}

// heldUnread returns what holds a request of which only the header is known.
func (x *exchange) heldUnread(r *http.Request) *hold {
	id := identify(r.Header, gjson.Result{}, "")
	h := x.tap.holds.of(&place{session: id.session, namespace: id.namespace})
	if h != nil {
		want := x.wanted(gjson.Result{})
		x.unread = &want
	}
	return h
}

// held returns what holds the place of a request. A new message of a person lifts it.
func (x *exchange) held(ctx context.Context) *hold {
	at := x.at.Load()
	h := x.tap.holds.of(at)
	if h != nil && x.unsure {
		return nil
	}
	if h == nil || x.spoken == "" || x.fresh && x.repeats(ctx, at.session) || !x.tap.lift(x, h) {
		return h
	}
	return nil
}

// repeats reports whether the log has the message of a person that a request ends with, where
// the tap does not know the conversation. It may: then it is no new one.
func (x *exchange) repeats(ctx context.Context, session string) bool {
	token, err := events.Token(session)
	if err != nil || x.tap.opts.LastHuman == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, placing)
	defer cancel()
	last, err := x.tap.opts.LastHuman(ctx, token)
	return err != nil || last != "" && strings.HasSuffix(x.spoken, last)
}

// answerHeld answers a request that a hold stops, as its model would end.
func (x *exchange) answerHeld(w http.ResponseWriter, req *http.Request, h *hold) {
	var r final.Request
	var back []string
	if x.unread != nil {
		r = *x.unread
		_, _ = io.Copy(io.Discard, req.Body) // a client that still sends would not read the answer
	} else {
		r, back = x.want, x.back
	}
	r.Text = h.text
	kind, _, _ := strings.Cut(r.Type, ";")
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(final.Answer(r))
	x.tap.report(h, back, 1)
}

// halt ends the answer under way.
func (x *exchange) halt(h *hold) {
	if x.on != nil {
		x.on.halt(x, h)
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.halted != nil {
		return
	}
	x.halted = h
	if x.cancel == nil { // nothing is sent yet
		return
	}
	select {
	case <-x.answered:
		if !x.between() {
			time.AfterFunc(restOfEvent, x.cancel)
			return
		}
	default:
	}
	x.cancel()
}

// proceed reports whether the request goes to the upstream, which cancel ends.
func (x *exchange) proceed(cancel context.CancelFunc) *hold {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cancel = cancel
	return x.halted
}

// stoppedBy returns the hold that ended the answer, nil if none did.
func (x *exchange) stoppedBy() *hold {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.halted
}

// passedOn returns what the client has of the answer, decompressed. It reports false where that
// is not known.
func (x *exchange) passedOn() ([]byte, bool) {
	kept, ok := x.out.copied()
	if !ok || strings.Trim(x.encoding, ", ") == "" || len(kept) == 0 {
		return kept, ok
	}
	d, err := decoded(bytes.NewReader(kept), x.encoding, maxDecoded)
	if err != nil {
		return nil, false
	}
	var plain bytes.Buffer
	_, _ = io.Copy(&plain, d) // it ends early
	return plain.Bytes(), true
}

// between reports whether the client has no part of an event that is not whole.
func (x *exchange) between() bool {
	sent, ok := x.passedOn()
	return !ok || final.Whole(x.typeOf(), sent)
}

// answerBody is the body of an answer that a hold can end.
type answerBody struct {
	*copied
	x    *exchange
	tail []byte // of an answer that was ended, still to be read
	end  error  // behind the tail; nil while the upstream is read
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.end == nil {
		n, err := b.ReadCloser.Read(p)
		if b.x.pass(p[:n], err) {
			return b.passed(n, err)
		}
		b.finish()
	}
	if len(b.tail) == 0 {
		return 0, b.end
	}
	n := copy(p, b.tail)
	b.tail = b.tail[n:]
	return n, nil
}

// pass copies what was read of the answer. It reports false where that is not passed on, as
// the answer was ended.
func (x *exchange) pass(p []byte, err error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.halted != nil && x.status/100 == 2 && (err != nil && !errors.Is(err, io.EOF) || x.between()) {
		return false
	}
	if len(p) > 0 {
		x.out.write(p)
	}
	return true
}

// finish ends an answer under way.
func (b *answerBody) finish() {
	x := b.x
	b.end = errStopped
	h, e := x.halted, final.End{Cut: true}
	if sent, ok := x.passedOn(); ok && x.between() {
		r := x.want
		r.Type, r.Text = x.typeOf(), h.text
		e = final.EndOf(r, sent)
		x.said = e.Said
		if !e.Cut && (x.length < 0 || len(e.Tail) == 0) {
			kept, _ := x.out.copied()
			if b.tail, ok = continued(x.encoding, kept, sent, e.Tail); ok {
				b.end = io.EOF
			}
		}
	}
	x.out.close(errStopped)
	x.tap.ended(h, &e)
}
