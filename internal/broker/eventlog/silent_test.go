package eventlog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/test/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// silentMost is the maximum number of bytes buffered for a reader that does not read: two
// requests and the read part of the last one.
const silentMost = 2*tailRead + 128<<10

// TestSilentReaders checks that readers of a long history that stop reading have
// few bytes buffered, and that each receives everything once when it continues.
func TestSilentReaders(t *testing.T) {
	t.Parallel()
	const (
		readers  = 5
		n        = 400 // events before they stop reading
		meantime = 100 // events while they do not read
		size     = 30 << 10
	)
	server := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: server.URL()})
	body := []byte(strings.Repeat("x", size))
	write := func(first, last, prev uint64) uint64 {
		for i := first; i <= last; i++ {
			e := &events.Event{Type: events.AgentResponseChunk, EventID: events.ID{Seq: i}}
			prev = must(t, b, b.EventPub("s", e, body, nil, prev))
		}
		return prev
	}
	last := write(1, n, 0)
	before := sent(t, server)
	release, silent, done := make(chan struct{}), make(chan struct{}, readers), make(chan error, readers)
	for range readers {
		go func() {
			next := uint64(1)
			done <- b.Tail(brokertest.Deadline(t), "s", 0, func(s events.Record, _ bool) error {
				if s.Seq == 0 { // the history is read
					return nil
				}
				if s.ID.Seq != next {
					return fmt.Errorf("got event %v, want %d.0", s.ID, next)
				}
				if next == 1 {
					silent <- struct{}{}
					<-release
				}
				if next++; next > n+meantime {
					return errEnough
				}
				return nil
			}, nil)
		}()
	}
	for range readers {
		<-silent
	}
	untilServed(t, b)
	const most = readers*silentMost + sharedBytes // the readers share one beginning of the history
	if got := sent(t, server) - before; got > most {
		t.Errorf("%d readers have %d bytes buffered, want at most %d", readers, got, most)
	}
	write(n+1, n+meantime, last)
	if err := b.Flush(brokertest.Deadline(t)); err != nil { // the republished events have arrived
		t.Fatal(err)
	}
	for got := range queuedBytes(b, "s") {
		if got > tailBytes+size {
			t.Errorf("a reader has %d bytes of new events queued, want at most %d", got, tailBytes+size)
		}
	}
	close(release)
	for range readers {
		if err := <-done; !errors.Is(err, errEnough) {
			t.Error(err)
		}
	}
}

// queuedBytes yields the bytes that wait for each tail of a session.
func queuedBytes(b testLog, token string) iter.Seq[int] {
	return func(yield func(int) bool) {
		b.watches.mu.Lock()
		defer b.watches.mu.Unlock()
		for t := range b.watches.of[token].tails {
			t.mu.Lock()
			n := t.bytes
			t.mu.Unlock()
			if !yield(n) {
				return
			}
		}
	}
}

// sent returns the number of bytes that a server has sent to its clients.
func sent(t *testing.T, s *brokertest.Server) (bytes int64) {
	t.Helper()
	conns, err := s.Connz(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conns.Conns {
		bytes += c.OutBytes
	}
	return bytes
}

// untilServed waits until no consumer of the event stream has a request that the
// server can answer.
func untilServed(t *testing.T, b testLog) {
	t.Helper()
	js, err := jetstream.New(brokertest.Connect(t, b.Broker))
	if err != nil {
		t.Fatal(err)
	}
	ctx := brokertest.Deadline(t)
	s, err := js.Stream(ctx, broker.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Until(t, "no request waits", func() error {
		waiting := 0
		consumers := s.ListConsumers(ctx)
		for info := range consumers.Info() {
			waiting += info.NumWaiting
		}
		if err := consumers.Err(); err != nil {
			t.Fatal(err)
		}
		if waiting > 0 {
			return fmt.Errorf("%d requests wait", waiting)
		}
		return nil
	})
}

// TestLargeEventInHistory checks that an event larger than the bytes of a request is
// delivered, with those before and after it.
func TestLargeEventInHistory(t *testing.T) {
	b := start(t, broker.Options{})
	var last uint64
	sizes := []int{100, 3 * tailRead, 100, 3 * tailRead, 3 * tailRead, 100}
	for i, size := range sizes {
		e := &events.Event{Type: events.AgentResponseChunk, EventID: events.ID{Seq: uint64(i + 1)}}
		last = must(t, b, b.EventPub("s", e, []byte(strings.Repeat("x", size)), nil, last))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []int
	err := b.Tail(ctx, "s", 0, func(s events.Record, _ bool) error {
		if s.Seq == 0 {
			return errEnough
		}
		got = append(got, len(s.Data))
		return nil
	}, nil)
	if !errors.Is(err, errEnough) || fmt.Sprint(got) != fmt.Sprint(sizes) {
		t.Errorf("got events of %v bytes, %v, want %v", got, err, sizes)
	}
}
