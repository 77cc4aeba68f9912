package gateway

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// metered counts the bytes that Tail has passed on.
type metered struct {
	*memory
	taken atomic.Int64
}

func (m *metered) Tail(ctx context.Context, token string, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	return m.memory.Tail(ctx, token, after, func(e events.Record, live bool) error {
		m.taken.Add(int64(len(e.Data)))
		return fn(e, live)
	}, flush)
}

// TestStuckClientHoldsLittle checks that a client that does not read makes the
// gateway buffer no more than one write in progress and one pending buffer.
func TestStuckClientHoldsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := &metered{memory: newMemory()}, newPipes()
		store.some("s", 10_000)
		stop := running(t, build(t, Options{}, store), ln)
		conn := ln.dial(t)
		io.WriteString(conn, "GET /v1/sessions/s/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
		conn.Read(make([]byte, 1<<10)) // the headers and stream.open
		time.Sleep(time.Second)
		if got := store.taken.Load(); got == 0 || got > 3*fullBuffer {
			t.Errorf("a stuck client: %d bytes were read from the log, want at most %d", got, 3*fullBuffer)
		}
		conn.Close()
		stop()
	})
}

// TestNothingIsWrittenAfterStop checks that neither a heartbeat nor an event uses
// the ResponseWriter after stop.
func TestNothingIsWrittenAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		native, err := encode.Find("native")
		if err != nil {
			t.Fatal(err)
		}
		s := newStream(build(t, Options{}, newMemory()), &request{proto: native}, func(error) {})
		s.body, s.live = newResponse(w, new(atomic.Uint64)), true
		if err := s.sendOpening(new(encode.Opening)); err != nil {
			t.Fatal(err)
		}
		s.stop()
		before := w.Body.Len()
		if err := s.take(t.Context(), events.Record{Seq: 1, Type: events.RunStarted, Data: []byte("{}")}, true); err != nil {
			t.Errorf("take: %v", err)
		}
		if err := s.flush(); !errors.Is(err, errStreamClosed) {
			t.Errorf("flush: got error %v, want %v", err, errStreamClosed)
		}
		s.heartbeat()
		time.Sleep(time.Minute)
		if got := w.Body.Len(); got != before || before == 0 {
			t.Errorf("body: got %d bytes after stop, want the %d before it", got, before)
		}
	})
}
