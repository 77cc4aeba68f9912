package eventlog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
)

// manyFollower runs a tail of several sessions and checks that sequences increase.
type manyFollower struct {
	t    *testing.T
	got  chan events.Record
	live chan struct{}
}

func followMany(t *testing.T, b testLog, s selection, after uint64) *manyFollower {
	ctx, cancel := context.WithCancel(t.Context())
	f := &manyFollower{t: t, got: make(chan events.Record, 10_000), live: make(chan struct{})}
	var ended sync.WaitGroup
	ended.Go(func() {
		last := after
		err := b.TailMany(ctx, s.tokens, s.match, after, func(e events.Record, live bool) error {
			if e.Seq == 0 {
				close(f.live)
				return nil
			}
			if e.Seq <= last {
				return fmt.Errorf("event %d after %d", e.Seq, last)
			}
			last = e.Seq
			f.got <- e
			return nil
		}, nil)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("tail: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
	return f
}

// want checks the sequences of the next events.
func (f *manyFollower) want(seqs ...uint64) {
	f.t.Helper()
	for _, want := range seqs {
		select {
		case e := <-f.got:
			if e.Seq != want {
				f.t.Fatalf("got event %d of %s, want %d", e.Seq, e.Token, want)
			}
		case <-time.After(brokertest.Within):
			f.t.Fatalf("event %d did not arrive", want)
		}
	}
}

// interleave appends an event to each session in turn, and returns the last
// sequences.
type interleaved struct {
	n    int
	prev map[string]uint64
}

func (i *interleaved) add(t testing.TB, b testLog, tokens ...string) (seqs []uint64) {
	t.Helper()
	if i.prev == nil {
		i.prev = map[string]uint64{}
	}
	for _, token := range tokens {
		i.n++
		i.prev[token] = must(t, b, event(b, token, i.n, i.prev[token]))
		seqs = append(seqs, i.prev[token])
	}
	return seqs
}

// TestTailMany checks that the events of several sessions are read in the order of
// the log, from each cursor: first the stored ones, then new ones.
func TestTailMany(t *testing.T) {
	two := selection{tokens: []string{"a", "c", "none"}}
	matching := selection{match: func(token string) bool { return strings.ContainsAny(token, "ac") }}
	for name, s := range map[string]selection{"tokens": two, "pattern": matching} {
		t.Run(name, func(t *testing.T) {
			b := start(t, broker.Options{})
			var w interleaved
			w.add(t, b, "a", "b", "c", "c", "a", "b") // 1 to 6
			f := followMany(t, b, s, 0)
			f.want(1, 3, 4, 5)
			<-f.live
			w.add(t, b, "b", "c", "a") // 7 to 9
			f.want(8, 9)
			for after, want := range map[uint64][]uint64{1: {3, 4}, 4: {5, 8, 9}, 9: nil} {
				g := followMany(t, b, s, after)
				g.want(want...)
				<-g.live
			}
			if got := len(b.watches.of); got != 1 {
				t.Errorf("got %d subscriptions, want 1 for all tails", got)
			}
		})
	}
}

// TestTailManyFillsAGap checks that an event that did not arrive is read from the
// log before the events of other sessions that follow it.
func TestTailManyFillsAGap(t *testing.T) {
	t.Parallel()
	b := start(t, broker.Options{})
	var w interleaved
	f := followMany(t, b, selection{tokens: []string{"a", "b"}}, 0)
	<-f.live
	w.add(t, b, "a", "b")
	f.want(1, 2)
	cut(t, b, "", func() { w.add(t, b, "a") })
	w.add(t, b, "b")
	f.want(3, 4)
	cut(t, b, "", func() { w.add(t, b, "b") })
	f.want(5) // no event follows it: the check of the head finds it
}

// TestTailManyThroughARestart checks that no event is lost or repeated when the
// server restarts.
func TestTailManyThroughARestart(t *testing.T) {
	t.Parallel()
	s := brokertest.NewServer(t)
	b := start(t, broker.Options{URL: s.URL()})
	other := start(t, broker.Options{URL: s.URL()})
	var w interleaved
	f := followMany(t, b, selection{tokens: []string{"a", "b"}}, 0)
	<-f.live
	f.want(w.add(t, other, "a", "b")...)
	for range 2 {
		s.Stop()
		s.Start()
		f.want(w.add(t, other, "b", "a", "a")...)
	}
}

// TestSlowTailMany checks that a tail that is slower than the events of its sessions
// reads them from the log, in order.
func TestSlowTailMany(t *testing.T) {
	t.Parallel()
	const n = 2 * tailEvents
	b := start(t, broker.Options{})
	var w interleaved
	w.add(t, b, "a")
	release, got := make(chan struct{}), make(chan error, 1)
	go func() {
		next := uint64(1)
		got <- b.TailMany(brokertest.Deadline(t), []string{"a", "b"}, nil, 0, func(e events.Record, _ bool) error {
			switch e.Seq {
			case 0:
				return nil
			case 1:
				<-release
			}
			if e.Seq != next {
				return fmt.Errorf("got event %d, want %d", e.Seq, next)
			}
			if next++; next > n {
				return errEnough
			}
			return nil
		}, nil)
	}()
	for range n / 2 {
		w.add(t, b, "b", "a")
	}
	close(release)
	if err := <-got; !errors.Is(err, errEnough) {
		t.Error(err)
	}
}
