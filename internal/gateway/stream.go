package gateway

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
)

const (
	// fullBuffer is the number of pending bytes at which the tail writes them
	// itself and therefore waits for the client.
	fullBuffer = 64 << 10
	// keptBuffer is the maximum size of a buffer that is reused.
	keptBuffer = 4 * fullBuffer
)

var (
	errStreamClosed = errors.New("gateway: the stream is closed")
	errRotated      = errors.New("gateway: the stream has reached its maximum age")
	errStreamDone   = errors.New("gateway: the stream is complete")
)

// stream is one connection. Its tail appends frames to pending. The holder of
// writing takes all pending frames and writes them at once, so a slow client gets
// few large writes. The writer is a goroutine that only exists while frames are
// pending: an idle stream costs no goroutine, no buffer and no ticker.
type stream struct {
	g       *Gateway
	w       http.ResponseWriter
	rc      *http.ResponseController
	proto   *encode.Protocol
	enc     encode.Encoder
	session string
	types   map[events.Type]bool // nil means all
	end     context.CancelCauseFunc

	mu        sync.Mutex // guards the next three fields
	pending   *[]byte    // nil if no frames are pending
	scheduled bool       // a flush of pending is scheduled
	last      uint64     // sequence of the last appended event

	writing        chan struct{} // held during a write; guards the next two fields
	err            error         // error of the first failed write, or errStreamClosed; no write follows it
	heartbeatTimer *time.Timer
}

// newStream returns a stream of a protocol. end cancels its context.
func newStream(g *Gateway, w http.ResponseWriter, p *encode.Protocol, end context.CancelCauseFunc) *stream {
	return &stream{g: g, w: w, rc: http.NewResponseController(w), proto: p, enc: p.New(), end: end, writing: make(chan struct{}, 1)}
}

// lockWriter waits for the current write, which takes at most the write timeout.
// writing is a channel and not a mutex, because tests with a fake clock must see
// the wait.
func (s *stream) lockWriter() { s.writing <- struct{}{} }

// unlockWriter ends a write.
func (s *stream) unlockWriter() { <-s.writing }

// serve runs the stream until the client disconnects, is too slow, or the server
// ends the stream.
func (s *stream) serve(ctx context.Context, r *http.Request, req request) {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // otherwise nginx waits for a full buffer
	for _, f := range slices.Concat(s.proto.Header, req.header) {
		h.Set(f[0], f[1])
	}
	s.w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	// From here on, reading only detects that the client disconnects.
	_ = s.rc.SetReadDeadline(time.Time{})
	defer s.stop()
	err := s.sendOpening(req.open)
	if err == nil && req.await != nil {
		if req.open, err = req.await(ctx); err == nil {
			err = s.sendOpening(req.open)
		}
	}
	if err == nil {
		rotation := s.rotate()
		err = s.tail(ctx, req)
		rotation.Stop()
	}
	s.finish(ctx, r, err)
}

// rotate ends a stream that can be resumed after a random time within the last fifth
// of Options.MaxAge. The clients of a gateway are then spread over all gateways
// again, and those that connected at the same time do not return at the same time.
func (s *stream) rotate() *time.Timer {
	age := s.g.opts.MaxAge
	if age < 0 || s.proto.ByRun {
		return time.NewTimer(0)
	}
	return time.AfterFunc(age-rand.N(max(age/5, 1)), func() { s.end(errRotated) })
}

// tail reads the events of the stream.
func (s *stream) tail(ctx context.Context, req request) error {
	take := func(e events.Record, _ bool) error { return s.take(ctx, e) }
	if req.many != nil {
		return s.g.store.TailMany(ctx, req.many.tokens, req.many.match, req.open.From, take)
	}
	return s.g.store.Tail(ctx, req.token, req.open.From, take)
}

// sendOpening writes the first frame, before the log is read, and again when it is
// known where a stream that waited begins.
func (s *stream) sendOpening(open encode.Opening) error {
	s.lockWriter()
	defer s.unlockWriter()
	if s.heartbeatTimer == nil {
		s.heartbeatTimer = time.AfterFunc(s.g.opts.Heartbeat, s.heartbeat)
	}
	return s.write(s.enc.Open(nil, open))
}

// finish handles the end of the stream and sends the last frame if the client is
// still connected.
func (s *stream) finish(ctx context.Context, r *http.Request, err error) {
	failed := s.writeError()
	switch {
	case failed == nil && errors.Is(err, errStreamDone):
		// The encoder has written the end.
	case errors.Is(failed, os.ErrDeadlineExceeded):
		s.g.counts.slow.Add(1)
		s.g.log.Warn().Str("session", s.session).Uint64("seq", s.sequence()).Msg("slow client disconnected")
	case failed == nil && errors.Is(context.Cause(ctx), errExpired):
		s.g.log.Debug().Str("session", s.session).Uint64("seq", s.sequence()).Msg("token of a client has expired")
		s.sendEnd(encode.Expired)
	case failed != nil || r.Context().Err() != nil:
		s.g.log.Debug().Err(failed).Str("session", s.session).Uint64("seq", s.sequence()).Msg("client disconnected")
	case errors.Is(context.Cause(ctx), errShutdown):
		s.sendEnd(encode.Shutdown)
	case errors.Is(context.Cause(ctx), errRotated):
		s.sendEnd(encode.Rotation)
	default:
		s.g.log.Error().Err(err).Str("session", s.session).Uint64("seq", s.sequence()).Msg("event log cannot be read")
		s.sendEnd(encode.Unavailable)
	}
}

// take adds an event to the pending frames. The tail calls it for each event, and
// once without an event after the last stored one. It blocks only if fullBuffer
// bytes are pending, or to read a large value.
func (s *stream) take(ctx context.Context, e events.Record) error {
	if e.Seq > 0 && s.types != nil && !s.types[e.Type] {
		return nil
	}
	if s.proto.Inline {
		var err error
		if e, err = s.g.inline(ctx, e); err != nil {
			return err
		}
	}
	return s.append(e)
}

// append adds an event to the pending frames. It returns errStreamDone after the
// last one.
func (s *stream) append(e events.Record) error {
	s.mu.Lock()
	buf := s.buffer()
	if e.Seq > 0 {
		*buf = s.enc.Event(*buf, e)
		s.last = e.Seq
	} else {
		*buf = s.enc.Live(*buf, s.last)
	}
	full, scheduled, done := len(*buf) >= fullBuffer, s.scheduled, s.enc.Done()
	s.scheduled = true
	s.mu.Unlock()
	switch {
	case done:
		return cmp.Or(s.flush(), errStreamDone)
	case full:
		return s.flush()
	case !scheduled:
		go s.flush() // an error ends the stream; stop waits for this goroutine
	}
	return nil
}

// buffer returns the buffer for the next frame. The caller holds mu.
func (s *stream) buffer() *[]byte {
	if s.pending == nil {
		s.pending = s.g.buffers.Get().(*[]byte)
	}
	return s.pending
}

// flush writes the pending frames.
func (s *stream) flush() error {
	s.lockWriter()
	defer s.unlockWriter()
	s.mu.Lock()
	buf := s.pending
	s.pending, s.scheduled = nil, false
	s.mu.Unlock()
	if buf == nil {
		return s.err
	}
	err := s.write(*buf)
	if cap(*buf) <= keptBuffer {
		*buf = (*buf)[:0]
		s.g.buffers.Put(buf)
	}
	return err
}

// heartbeat writes a heartbeat, unless a write is in progress: a write makes it
// unnecessary.
func (s *stream) heartbeat() {
	select {
	case s.writing <- struct{}{}:
		defer s.unlockWriter()
	default:
		return
	}
	_ = s.write(s.enc.Heartbeat(nil)) // an error ends the stream
}

// write writes frames to the client. The caller holds writing. An error ends the
// stream, and later calls return it.
func (s *stream) write(frames []byte) error {
	if s.err != nil {
		return s.err
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.g.opts.WriteTimeout))
	_, err := s.w.Write(frames)
	if err == nil {
		err = s.rc.Flush()
	}
	if err != nil {
		s.err = err
		s.end(err)
		return err
	}
	s.heartbeatTimer.Reset(s.g.opts.Heartbeat)
	return nil
}

// sendEnd writes the pending frames and the last frame. A stream that has no frame
// for this end is cut off.
func (s *stream) sendEnd(reason encode.Ending) {
	if s.flush() != nil {
		return
	}
	if s.proto.CutShort {
		panic(http.ErrAbortHandler) // net/http closes the connection without an end of the body
	}
	s.lockWriter()
	defer s.unlockWriter()
	_ = s.write(s.enc.End(nil, reason)) // the stream ends in any case
}

// stop waits for the current write and prevents others. After it, the stream does
// not use the ResponseWriter.
func (s *stream) stop() {
	s.lockWriter()
	defer s.unlockWriter()
	if s.err == nil {
		s.err = errStreamClosed
	}
	s.heartbeatTimer.Stop()
}

// writeError returns the error of the first failed write.
func (s *stream) writeError() error {
	s.lockWriter()
	defer s.unlockWriter()
	return s.err
}

// sequence returns the sequence of the last appended event.
func (s *stream) sequence() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}
