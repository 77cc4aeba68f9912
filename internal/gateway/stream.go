package gateway

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"

	"github.com/rs/zerolog"
)

const (
	// fullBuffer is the number of pending bytes at which the tail writes them,
	// although more events wait.
	fullBuffer = 64 << 10
	// keptBuffer is the maximum size of a buffer that is reused.
	keptBuffer = 4 * fullBuffer
	// historyDelay is the time after which stored events are written although more of
	// them follow.
	historyDelay = 50 * time.Millisecond
)

var (
	errDisconnected = errors.New("gateway: the client has disconnected")
	errStreamClosed = errors.New("gateway: the stream is closed")
	errRotated      = errors.New("gateway: the stream has reached its maximum age")
	errStreamDone   = errors.New("gateway: the stream is complete")
)

// stream is one connection. The goroutine of its tail appends frames to pending and
// writes them when no further event waits, so a slow client gets few large writes. A
// frame that is alone is not copied: the streams of a session share it.
type stream struct {
	g       *Gateway
	body    body
	proto   *encode.Protocol
	enc     encode.Encoder
	session string
	types   map[events.Type]bool // nil means all
	end     context.CancelCauseFunc
	conn    atomic.Pointer[connection] // nil if the stream is a response of net/http

	// Only the goroutine of the tail uses these.
	one     *sharedEvent // the pending frame, if there is one and pending is nil
	pending *[]byte      // nil if no frames are pending
	last    uint64       // sequence of the last appended event
	live    bool         // all stored events were appended
	written time.Time    // time of the last write of stored events

	writing        chan struct{} // held during a write; guards the next two fields
	err            error         // error of the first failed write, or errStreamClosed; no write follows it
	heartbeatTimer *time.Timer
}

// newStream returns a stream of a protocol. end cancels its context.
func newStream(g *Gateway, req *request, end context.CancelCauseFunc) *stream {
	return &stream{
		g: g, proto: req.proto, enc: req.proto.New(), session: strings.Clone(req.open.Session), types: req.types,
		last: req.open.From, end: end, writing: make(chan struct{}, 1),
	}
}

// lockWriter waits for the current write, which takes at most the write timeout.
// writing is a channel and not a mutex, because tests with a fake clock must see
// the wait.
func (s *stream) lockWriter() { s.writing <- struct{}{} }

func (s *stream) unlockWriter() { <-s.writing }

func (s *stream) setHeader(h http.Header, req *request) {
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // otherwise nginx waits for a full buffer
	for _, f := range slices.Concat(s.proto.Header, req.header) {
		h.Set(f[0], f[1])
	}
}

// serve runs the stream until the client disconnects, is too slow, or the server
// ends the stream. It reports whether the end of the body is orderly.
func (s *stream) serve(ctx context.Context, req *request) (orderly bool) {
	defer s.stop()
	err := onNewStack(func() error { return s.begin(ctx, req) })
	if err == nil {
		stop := s.rotate()
		err = s.tail(ctx, req)
		stop()
	}
	return s.finish(ctx, err)
}

// onNewStack calls f on another goroutine, and returns its error or panics as it does. The
// stack of the caller, which waits for a long time afterwards, then stays small.
func onNewStack(f func() error) (err error) {
	var thrown any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { thrown = recover() }()
		err = f()
	}()
	if <-done; thrown != nil {
		panic(thrown)
	}
	return err
}

// begin sends the opening, after waiting for the beginning of the stream if necessary.
func (s *stream) begin(ctx context.Context, req *request) error {
	err := s.sendOpening(&req.open)
	if err == nil && req.await != nil {
		if req.open, err = req.await(ctx); err == nil {
			err = s.sendOpening(&req.open)
		}
	}
	return err
}

// rotate ends a stream that can be resumed after a random time within the last fifth
// of Options.MaxAge. The clients of a gateway are then spread over all gateways
// again, and those that connected at the same time do not return at the same time.
func (s *stream) rotate() (stop func()) {
	age := s.g.opts.MaxAge
	if age < 0 || s.proto.ByRun {
		return func() {}
	}
	timer := time.AfterFunc(age-rand.N(max(age/5, 1)), func() { s.end(errRotated) })
	return func() { timer.Stop() }
}

func (s *stream) tail(ctx context.Context, req *request) error {
	take := func(e events.Record, live bool) error { return s.take(ctx, e, live) }
	if req.many != nil {
		return s.g.store.TailMany(ctx, req.many.tokens, req.many.match, req.open.From, take, s.flush)
	}
	return s.g.store.Tail(ctx, req.token, req.open.From, take, s.flush)
}

// sendOpening writes the first frame, before the log is read, and again when it is
// known where a stream that waited begins.
func (s *stream) sendOpening(open *encode.Opening) error {
	s.lockWriter()
	defer s.unlockWriter()
	if s.heartbeatTimer == nil {
		s.heartbeatTimer = time.AfterFunc(s.g.opts.Heartbeat, s.heartbeat)
	}
	s.written = time.Now()
	return s.write(s.enc.Open(newChunk(), *open))
}

// finish handles the end of the stream and sends the last frame if the client is
// still connected. It reports whether the end of the body is orderly.
func (s *stream) finish(ctx context.Context, err error) (orderly bool) {
	failed, cause := s.writeError(), context.Cause(ctx)
	log := func(e *zerolog.Event) *zerolog.Event { return e.Str("session", s.session).Uint64("seq", s.last) }
	switch {
	case failed == nil && errors.Is(err, errStreamDone):
		return true // the encoder has written the end
	case errors.Is(failed, os.ErrDeadlineExceeded):
		s.g.counts.slow.Add(1)
		log(s.g.log.Warn()).Msg("slow client disconnected")
	case failed == nil && errors.Is(cause, errExpired):
		log(s.g.log.Debug()).Msg("client token expired")
		return s.sendEnd(encode.Expired)
	case failed != nil || errors.Is(cause, errDisconnected) || errors.Is(cause, context.Canceled):
		log(s.g.log.Debug()).Err(failed).Msg("client disconnected")
	case errors.Is(cause, errShutdown):
		return s.sendEnd(encode.Shutdown)
	case errors.Is(cause, errRotated):
		return s.sendEnd(encode.Rotation)
	default:
		log(s.g.log.Error()).Err(err).Msg("event log cannot be read")
		return s.sendEnd(encode.Unavailable)
	}
	return false
}

// take adds an event to the pending frames. The tail calls it for each event, and
// once without an event after the last stored one. It writes if fullBuffer bytes are
// pending, or stored events wait for longer than historyDelay.
func (s *stream) take(ctx context.Context, r events.Record, live bool) error {
	if r.Seq == 0 {
		s.live = true
		buf := s.buffer()
		*buf = s.enc.Live(*buf, s.last)
		return s.appended()
	}
	if s.types != nil && !s.types[r.Type] {
		return nil
	}
	sh := s.g.recent.share(r, live)
	var e *events.Event
	if s.proto.Inline {
		var err error
		if e, err = s.g.inline(ctx, sh.event()); err != nil {
			return err
		}
	}
	if s.proto.Bodies {
		whole, err := s.g.whole(ctx, r)
		if err != nil {
			return err
		}
		sh = &sharedEvent{record: whole}
	}
	s.append(sh, e)
	return s.appended()
}

// append adds an event, parsed if the protocol is Inline, to the pending frames.
func (s *stream) append(sh *sharedEvent, e *events.Event) {
	s.last = sh.record.Seq
	switch {
	case !s.proto.Stateless || !sh.live:
		buf := s.buffer()
		*buf = s.enc.Event(*buf, sh.record, e)
	case s.one == nil && s.pending == nil:
		s.one = sh
	default:
		buf := s.buffer()
		*buf = append(*buf, sh.frame(s.enc)...)
	}
}

// appended writes the pending frames if they are not to wait for more. It returns
// errStreamDone after the last frame.
func (s *stream) appended() error {
	switch {
	case s.enc.Done():
		return cmp.Or(s.flush(), errStreamDone)
	case s.pending != nil && len(*s.pending) >= fullBuffer:
		return s.flush()
	case !s.live && time.Since(s.written) >= historyDelay:
		return s.flush()
	}
	return nil
}

// buffer returns the buffer for the next frame. It contains the frame that was alone.
func (s *stream) buffer() *[]byte {
	if s.pending == nil {
		s.pending = s.g.buffers.Get().(*[]byte)
		*s.pending = append((*s.pending)[:0], chunkSpace...)
		if s.one != nil {
			*s.pending = append(*s.pending, s.one.frame(s.enc)...)
			s.one = nil
		}
	}
	return s.pending
}

// flush writes the pending frames. The tail calls it when no event waits.
func (s *stream) flush() error {
	one, buf := s.one, s.pending
	s.one, s.pending = nil, nil
	if one == nil && buf == nil {
		return nil
	}
	s.lockWriter()
	defer s.unlockWriter()
	s.written = time.Now()
	if one != nil {
		return s.writeWith(func(deadline time.Time) error { return s.body.share(one, s.enc, deadline) })
	}
	var err error
	if len(*buf) > len(chunkSpace) {
		err = s.write(*buf)
	}
	if cap(*buf) <= keptBuffer {
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
	_ = s.write(s.enc.Heartbeat(newChunk())) // an error ends the stream
}

// write writes frames, which follow chunkSpace, to the client. The caller holds
// writing. An error ends the stream, and later calls return it.
func (s *stream) write(frames []byte) error {
	return s.writeWith(func(deadline time.Time) error { return s.body.write(frames, deadline) })
}

func (s *stream) writeWith(write func(deadline time.Time) error) error {
	if s.err != nil {
		return s.err
	}
	if err := write(time.Now().Add(s.g.opts.WriteTimeout)); err != nil {
		s.err = err
		s.end(err)
		return err
	}
	s.heartbeatTimer.Reset(s.g.opts.Heartbeat)
	return nil
}

// sendEnd writes the pending frames and the last frame, and reports whether the end of
// the body is orderly. A stream that has no frame for this end is cut off.
func (s *stream) sendEnd(reason encode.Ending) (orderly bool) {
	if s.flush() != nil || s.proto.CutShort {
		return false
	}
	s.lockWriter()
	defer s.unlockWriter()
	return s.write(s.enc.End(newChunk(), reason)) == nil
}

// cut closes the connection, also during a write. A response is closed by net/http.
func (s *stream) cut() {
	if c := s.conn.Load(); c != nil {
		_ = c.Close() // the stream ends in any case
	}
}

// stop waits for the current write and prevents others. After it, the stream does
// not use the body.
func (s *stream) stop() {
	s.lockWriter()
	defer s.unlockWriter()
	if s.err == nil {
		s.err = errStreamClosed
	}
	if s.heartbeatTimer != nil {
		s.heartbeatTimer.Stop()
	}
}

func (s *stream) writeError() error {
	s.lockWriter()
	defer s.unlockWriter()
	return s.err
}
