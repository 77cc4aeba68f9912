package gateway

import (
	"context"
	"io"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/encode"
	"streamer/internal/events"
)

// metered counts the bytes a tail has handed over.
type metered struct {
	*memory
	taken atomic.Int64
}

func (m *metered) Tail(ctx context.Context, token string, after uint64, fn func(events.Record, bool) error) error {
	return m.memory.Tail(ctx, token, after, func(e events.Record, live bool) error {
		m.taken.Add(int64(len(e.Data)))
		return fn(e, live)
	})
}

// However much there is to tell, a client that does not read makes the gateway
// hold one buffer that is being written and one that fills up behind it.
func TestStuckClientHoldsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := &metered{memory: newMemory()}, newPipes()
		store.some("s", 10_000)
		stop := running(t, build(t, Options{}, store), ln)
		conn := ln.dial(t)
		io.WriteString(conn, "GET /v1/sessions/s/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
		conn.Read(make([]byte, 1<<10)) // the head and stream.open
		time.Sleep(time.Second)
		if got := store.taken.Load(); got == 0 || got > 3*fullBuffer {
			t.Errorf("a stuck client: %d bytes were taken from the log, want at most %d", got, 3*fullBuffer)
		}
		conn.Close()
		stop()
	})
}

// After stop the ResponseWriter is the server's: neither a late heartbeat nor
// a late event may touch it.
func TestNothingIsWrittenAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		enc, err := encode.New("native")
		if err != nil {
			t.Fatal(err)
		}
		s := newStream(build(t, Options{}, newMemory()), w, enc, func(error) {})
		if err := s.begin(encode.Opening{}); err != nil {
			t.Fatal(err)
		}
		s.stop()
		before := w.Body.Len()
		if err := s.take(events.Record{Seq: 1, Type: events.RunStarted, Data: []byte("{}")}, true); err != nil {
			t.Errorf("take: %v", err)
		}
		s.beat()
		time.Sleep(time.Minute)
		if got := w.Body.Len(); got != before || before == 0 {
			t.Errorf("body: got %d bytes after stop, want the %d before it", got, before)
		}
	})
}
