package gateway

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
)

const (
	// fullBuffer is how many bytes may wait for a client before the tail has
	// to write them itself, and so to wait for the client.
	fullBuffer = 64 << 10
	// keptBuffer is the largest buffer that is used again.
	keptBuffer = 4 * fullBuffer
)

var errOver = errors.New("gateway: the stream is over")

// stream is one connection. Its tail appends frames to pending; whoever holds
// writing takes all of pending and writes it at once, so that what comes
// faster than the client reads goes out in few large writes. The writer is a
// goroutine that lives as long as there is something to write: a silent
// stream costs no goroutine, no buffer and no ticker of its own.
type stream struct {
	g       *Gateway
	w       http.ResponseWriter
	rc      *http.ResponseController
	enc     encode.Encoder
	session string
	types   map[events.Type]bool // nil: all
	end     context.CancelCauseFunc

	mu        sync.Mutex // guards the three below
	pending   *[]byte    // nil: nothing waits
	scheduled bool       // somebody will write pending
	last      uint64     // sequence of the last event appended

	writing chan struct{} // full while somebody writes; guards the two below
	err     error         // of the first failed write, or that the stream is over: no more are tried
	heart   *time.Timer
}

func newStream(g *Gateway, w http.ResponseWriter, enc encode.Encoder, end context.CancelCauseFunc) *stream {
	return &stream{g: g, w: w, rc: http.NewResponseController(w), enc: enc, end: end, writing: make(chan struct{}, 1)}
}

// hold waits for the write under way, and so at most the write time-out. It is
// a channel and no mutex because waiting for a client is a wait that a test's
// clock has to see.
func (s *stream) hold() { s.writing <- struct{}{} }

func (s *stream) release() { <-s.writing }

// serve runs the stream until its client goes, is too slow, or is sent away.
func (s *stream) serve(ctx context.Context, r *http.Request, token string, open encode.Opening) {
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // or nginx waits for a full buffer
	s.w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	// From here on reading only serves to see the client go: no deadline.
	_ = s.rc.SetReadDeadline(time.Time{})
	defer s.stop()
	err := s.begin(open)
	if err == nil {
		err = s.g.store.Tail(ctx, token, open.From, s.take)
	}
	s.finish(ctx, r, err)
}

// begin tells the client that it is connected, before the log is read.
func (s *stream) begin(open encode.Opening) error {
	s.hold()
	defer s.release()
	s.heart = time.AfterFunc(s.g.opts.Heartbeat, s.beat)
	return s.put(s.enc.Open(nil, open))
}

// finish says why the stream ends: to the client where it is there to hear it.
func (s *stream) finish(ctx context.Context, r *http.Request, err error) {
	failed := s.failed()
	switch {
	case errors.Is(failed, os.ErrDeadlineExceeded):
		s.g.counts.slow.Add(1)
		s.g.log.Warn().Str("session", s.session).Uint64("seq", s.sequence()).Msg("slow client disconnected")
	case failed != nil || r.Context().Err() != nil:
		s.g.log.Debug().Err(failed).Str("session", s.session).Uint64("seq", s.sequence()).Msg("client gone")
	case errors.Is(context.Cause(ctx), errShutdown):
		s.goodbye(encode.Shutdown)
	default:
		s.g.log.Error().Err(err).Str("session", s.session).Uint64("seq", s.sequence()).Msg("event log cannot be read")
		s.goodbye(encode.Unavailable)
	}
}

// take is called by the tail with each event, and once with none when the
// history is done. It waits only where fullBuffer bytes are left unread.
func (s *stream) take(e events.Record, _ bool) error {
	if e.Seq > 0 && s.types != nil && !s.types[e.Type] {
		return nil
	}
	s.mu.Lock()
	buf := s.buffer()
	if e.Seq > 0 {
		*buf = s.enc.Event(*buf, e)
		s.last = e.Seq
	} else {
		*buf = s.enc.Live(*buf, s.last)
	}
	full, scheduled := len(*buf) >= fullBuffer, s.scheduled
	s.scheduled = true
	s.mu.Unlock()
	switch {
	case full:
		return s.flush()
	case !scheduled:
		go s.flush() // its error ends the stream; stop waits for it
	}
	return nil
}

// buffer gives the place for the next frame; mu is held.
func (s *stream) buffer() *[]byte {
	if s.pending == nil {
		s.pending = s.g.buffers.Get().(*[]byte)
	}
	return s.pending
}

// flush writes what is pending.
func (s *stream) flush() error {
	s.hold()
	defer s.release()
	s.mu.Lock()
	buf := s.pending
	s.pending, s.scheduled = nil, false
	s.mu.Unlock()
	if buf == nil {
		return s.err
	}
	err := s.put(*buf)
	if cap(*buf) <= keptBuffer {
		*buf = (*buf)[:0]
		s.g.buffers.Put(buf)
	}
	return err
}

// beat breaks a silence, unless a write is under way: that ends it anyway, or
// the client is slow, and more bytes would not help.
func (s *stream) beat() {
	select {
	case s.writing <- struct{}{}:
		defer s.release()
	default:
		return
	}
	_ = s.put(s.enc.Heartbeat(nil)) // its error ends the stream
}

// put writes frames to the client; writing is held. After an error, which ends
// the stream, it writes no more.
func (s *stream) put(frames []byte) error {
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
	s.heart.Reset(s.g.opts.Heartbeat)
	return nil
}

// goodbye writes what is pending and the last frame.
func (s *stream) goodbye(why encode.Ending) {
	if s.flush() != nil {
		return
	}
	s.hold()
	defer s.release()
	_ = s.put(s.enc.End(nil, why)) // nobody is left to tell
}

// stop waits for the write under way and lets no other begin: after it the
// ResponseWriter is the server's again.
func (s *stream) stop() {
	s.hold()
	defer s.release()
	if s.err == nil {
		s.err = errOver
	}
	s.heart.Stop()
}

func (s *stream) failed() error {
	s.hold()
	defer s.release()
	return s.err
}

func (s *stream) sequence() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}
