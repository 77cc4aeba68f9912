package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"

	"github.com/nats-io/nats.go"
)

// follower runs a tail and passes its events on.
type follower struct {
	t    *testing.T
	got  chan events.Record
	live chan struct{}
	stop func()
}

// follow follows a session, or all with the token "".
func follow(t *testing.T, b testLog, token string, after uint64) *follower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &follower{t: t, got: make(chan events.Record, 10_000), live: make(chan struct{})}
	var ended sync.WaitGroup
	ended.Go(func() {
		isLive := false
		take := func(s events.Record, live bool) error {
			switch {
			case s.Seq == 0:
				isLive = true
				close(f.live) // a second time panics
			case live != isLive:
				t.Errorf("event %d: live is %v", s.Seq, live)
			default:
				f.got <- s
			}
			return nil
		}
		tail := func() error { return b.Tail(ctx, token, after, take, nil) }
		if token == "" {
			every := func(string) bool { return true }
			tail = func() error { return b.TailMany(ctx, nil, every, after, take, nil) }
		}
		if err := tail(); !errors.Is(err, context.Canceled) {
			t.Errorf("tail of %q: %v", token, err)
		}
	})
	f.stop = func() { cancel(); ended.Wait() }
	t.Cleanup(f.stop)
	return f
}

func (f *follower) waitLive() {
	f.t.Helper()
	select {
	case <-f.live:
	case <-time.After(brokertest.Within):
		f.t.Fatal("the tail has not read the history")
	}
}

// want checks that the next events are those with these ids.
func (f *follower) want(first, last int) {
	f.t.Helper()
	for i := first; i <= last; i++ {
		select {
		case s := <-f.got:
			if s.ID != (events.ID{Seq: uint64(i)}) {
				f.t.Fatalf("got event %v at %d, want %d.0", s.ID, s.Seq, i)
			}
		case <-time.After(brokertest.Within):
			f.t.Fatalf("event %d.0 did not arrive", i)
		}
	}
}

func TestTail(t *testing.T) {
	for _, token := range []string{"s", ""} {
		t.Run(fmt.Sprintf("session %q", token), func(t *testing.T) {
			b := start(t, broker.Options{})
			last := grow(t, b, "s", 1, 5, 0)
			f := follow(t, b, token, 0)
			f.waitLive()
			f.want(1, 5)
			last = grow(t, b, "s", 6, 5, last)
			f.want(6, 10)
			// A tail can begin in the middle or at the end.
			half, end := follow(t, b, token, 7), follow(t, b, token, last)
			half.want(8, 10)
			end.waitLive()
			grow(t, b, "s", 11, 1, last)
			for _, f := range []*follower{f, half, end} {
				f.want(11, 11)
			}
		})
	}
}

// A tail passes on the same event whether it was republished or read from the log.
func TestTailIsTheSameAsTheLog(t *testing.T) {
	b := start(t, broker.Options{})
	f := follow(t, b, "s", 0)
	f.waitLive()
	e := &events.Event{Type: events.Synthetic, EventID: events.ID{Seq: 3, N: 1}, Call: "2.0"}
	must(t, b, b.EventPub("s", e, []byte("{}"), map[string]string{"traceparent": "00-ab"}, 0))
	live := <-f.got
	var logged events.Record
	if err := b.Events(brokertest.Deadline(t), "s", 0, func(s events.Record) error { logged = s; return nil }); err != nil {
		t.Fatal(err)
	}
	read, err := b.Event(brokertest.Deadline(t), "s", live.Seq)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]events.Record{"live": live, "read alone": read} {
		if got, want := fmt.Sprintf("%+v", s), fmt.Sprintf("%+v", logged); got != want {
			t.Errorf("%s: got %s, the log has %s", name, got, want)
		}
	}
	if logged.Type != events.Synthetic || logged.Call != "2.0" || logged.Token != "s" || logged.ID != (events.ID{Seq: 3, N: 1}) {
		t.Errorf("got %+v", logged)
	}
	for _, c := range []struct {
		token string
		seq   uint64
	}{{"other", live.Seq}, {"s", live.Seq + 1}, {"s", 0}} {
		if _, err := b.Event(brokertest.Deadline(t), c.token, c.seq); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("event %d of %s: got %v, want ErrNotFound", c.seq, c.token, err)
		}
	}
}

// cut closes a session's subscription, calls between, and subscribes again: core
// NATS may drop the messages of that time.
func cut(t *testing.T, b testLog, token string, between func()) {
	t.Helper()
	b.watches.mu.Lock()
	defer b.watches.mu.Unlock()
	w := b.watches.of[token]
	w.sub.Close()
	between()
	var err error
	if w.sub, err = b.Subscribe(w.filter, w.receive, w.lost); err == nil {
		err = b.Flush(brokertest.Deadline(t))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTailFillsAGap(t *testing.T) {
	b := start(t, broker.Options{})
	f := follow(t, b, "s", 0)
	f.waitLive()
	last := grow(t, b, "s", 1, 2, 0)
	f.want(1, 2)
	cut(t, b, "s", func() { last = grow(t, b, "s", 3, 3, last) })
	grow(t, b, "s", 6, 1, last) // names the event before it, which did not arrive
	f.want(3, 6)
}

func TestTailMissesNoLastEvent(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{})
	f := follow(t, b, "s", 0)
	f.waitLive()
	last := grow(t, b, "s", 1, 2, 0)
	f.want(1, 2)
	cut(t, b, "s", func() { grow(t, b, "s", 3, 1, last) })
	f.want(3, 3) // no event follows it: the check of the head finds it
}

// TestCheckIsRepeated checks that a missing event is found again where the tail read a
// replica that did not have it yet.
func TestCheckIsRepeated(t *testing.T) {
	b := start(t, broker.Options{})
	grow(t, b, "s", 1, 1, 0)
	reader := &tail{l: b.Log, token: "s", wake: make(chan struct{}, 1)}
	w := &watch{l: b.Log, token: "s", filter: filterOf("s"), tails: map[*tail]struct{}{reader: {}}}
	for range 2 {
		if again := w.check(t.Context(), reader.last); !again {
			t.Fatal("the check found nothing missing, want the only event")
		}
		if _, lost := reader.takeAll(); !lost { // the replica had nothing
			t.Fatal("the tail was not told to read again")
		}
	}
	reader.last = 1
	if w.check(t.Context(), reader.last) {
		t.Error("the check found something missing, though the tail has read the event")
	}
}

func TestTailThroughARestart(t *testing.T) {
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL()})
	other := start(t, broker.Options{URL: s.URL()})
	f := follow(t, b, "s", 0)
	f.waitLive()
	last := grow(t, b, "s", 1, 3, 0)
	f.want(1, 3)
	for round := range 3 {
		s.Stop()
		s.Start()
		// The writer may reconnect before the tail.
		last = grow(t, other, "s", 4+3*round, 3, last)
		f.want(4+3*round, 6+3*round)
	}
}

// A tail whose reader is slow delays no other, and loses nothing.
func TestSlowTail(t *testing.T) {
	const n = 3 * tailEvents
	b := start(t, broker.Options{})
	quick := follow(t, b, "s", 0)
	quick.waitLive()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	release, live := make(chan struct{}), make(chan struct{})
	slow := make(chan error, 1)
	last := 0
	go func() {
		slow <- b.Tail(ctx, "s", 0, func(s events.Record, _ bool) error {
			if s.Seq == 0 {
				close(live)
				return nil
			}
			if last == 0 {
				<-release
			}
			if last++; s.ID.Seq != uint64(last) {
				return fmt.Errorf("got event %v, want %d.0", s.ID, last)
			}
			if last == n {
				return errEnough
			}
			return nil
		}, nil)
	}()
	<-live
	if got := len(b.watches.of); got != 1 {
		t.Errorf("two tails of one session have %d subscriptions", got)
	}
	grow(t, b, "s", 1, n, 0)
	quick.want(1, n)
	close(release)
	select {
	case err := <-slow:
		if !errors.Is(err, errEnough) {
			t.Error(err)
		}
	case <-time.After(brokertest.Within):
		t.Fatal("the slow tail did not end")
	}
	quick.stop()
	b.watches.mu.Lock()
	defer b.watches.mu.Unlock()
	if len(b.watches.of) != 0 {
		t.Errorf("%d subscriptions are left without tails", len(b.watches.of))
	}
}

func TestTailReturnsItsReadersError(t *testing.T) {
	b := start(t, broker.Options{})
	grow(t, b, "s", 1, 1, 0)
	for _, token := range []string{"s", ""} {
		if err := b.Tail(brokertest.Deadline(t), token, 0, func(events.Record, bool) error { return errEnough }, nil); !errors.Is(err, errEnough) {
			t.Errorf("token %q: got %v", token, err)
		}
	}
}

func TestEventBounds(t *testing.T) {
	b := start(t, broker.Options{})
	if first, last, err := b.EventBounds(brokertest.Deadline(t)); first != 1 || last != 0 || err != nil {
		t.Errorf("an empty log: got %d, %d, %v, want 1, 0", first, last, err)
	}
	grow(t, b, "s", 1, 3, 0)
	if first, last, err := b.EventBounds(brokertest.Deadline(t)); first != 1 || last != 3 || err != nil {
		t.Errorf("got %d, %d, %v, want 1, 3", first, last, err)
	}
}

// Readers of a session receive only the events in the log, whatever is published on their
// subjects.
func TestForgedEvent(t *testing.T) {
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL()}) // a server that forbids nothing
	nc := brokertest.Connect(t, b.Broker)
	f := follow(t, b, "s", 0)
	f.waitLive()
	if err := nc.Publish("toolcalls.s.event.tool_call_result", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	last := grow(t, b, "s", 1, 1, 0)
	f.want(1, 1)
	again := nats.NewMsg("toolcalls.s.event.tool_call_args_delta") // an event that has arrived
	again.Header = nats.Header{headerSeq: {"1"}, headerTime: {"2026-01-02T03:04:05Z"}, broker.HeaderPrev: {"0"}, events.HeaderEventID: {"1.0"}}
	if err := nc.PublishMsg(again); err != nil {
		t.Fatal(err)
	}
	grow(t, b, "s", 2, 1, last)
	f.want(2, 2)
}
