package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
)

// crowd is a log that says where chains end only once so many ask at the same
// time.
type crowd struct {
	*testBroker
	missing atomic.Int32
	all     chan struct{}
}

func newCrowd(b *testBroker, n int32) *crowd {
	c := &crowd{testBroker: b, all: make(chan struct{})}
	c.missing.Store(n)
	return c
}

func (c *crowd) ChainLast(ctx context.Context, token string) (uint64, broker.Stored, error) {
	if c.missing.Add(-1) == 0 {
		close(c.all)
	}
	select {
	case <-c.all:
		return c.testBroker.ChainLast(ctx, token)
	case <-ctx.Done():
		return 0, broker.Stored{}, errors.New("nobody else asks")
	}
}

// TestColdTogether: sessions that are not in memory are read at the same time
// where several are wanted: by the inputs of a batch, by alarms that are due,
// and by a new owner who looks whether their chains are whole.
func TestColdTogether(t *testing.T) {
	const sessions = 8
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	h := open(t, broker.Options{Partitions: 1})
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	rules := lifecycle.DefaultRules()
	partitionOn := func(log Log) *partition {
		return newPartition(&Worker{Log: log, Options: Options{Nonce: "cold", Rules: &rules}, Logger: zerolog.Nop()}, 0)
	}

	q := partitionOn(newCrowd(h.broker, sessions))
	if err := q.takeOver(ctx); err != nil {
		t.Fatal(err)
	}
	b := batch{inputs: h.inputs(ctx, sessions), next: sessions + 1, caughtUp: true, done: make(chan struct{}, 1)}
	if err := q.take(ctx, b); err != nil || len(q.live) != sessions {
		t.Errorf("a batch of %d sessions: got %v and %d sessions, want all", sessions, err, len(q.live))
	}
	q.settle()

	for _, step := range []struct {
		what string
		do   func(*partition, listing) error
	}{
		{"a look at their chains", func(q *partition, l listing) error { _, err := q.open(ctx, l.saved); return err }},
		{"alarms that are due", func(q *partition, open listing) error {
			q.caughtUp, q.pos = true, sessions+1
			if err := q.listed(ctx, open); err != nil {
				return err
			}
			return q.ring(ctx, time.Now().Add(time.Hour))
		}},
		{"chains that lack something", func(q *partition, open listing) error {
			for i := range open.open {
				open.open[i].lacking = true
			}
			return q.listed(ctx, open)
		}},
	} {
		open := listingOf(t, partitionOn(h.broker))
		if len(open.open) != sessions {
			t.Fatalf("got %d saved sessions, want %d", len(open.open), sessions)
		}
		q := partitionOn(newCrowd(h.broker, sessions))
		err := q.rules.begin(broker.Mark{})
		if err == nil {
			err = step.do(q, open)
		}
		if err != nil {
			t.Errorf("%s: %v", step.what, err)
		}
		q.abandon()
	}
}

// listingOf lists the saved sessions of a partition.
func listingOf(t *testing.T, q *partition) listing {
	t.Helper()
	l, err := q.listSnapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l.open, err = q.open(t.Context(), l.saved); err != nil {
		t.Fatal(err)
	}
	return l
}

// inputs reads the first n inputs of partition 0.
func (h *house) inputs(ctx context.Context, n int) (list []broker.Input) {
	h.t.Helper()
	err := h.broker.Inputs(ctx, 0, 1, func(in []broker.Input, _ uint64, _ bool) error {
		if list = append(list, in...); len(list) >= n {
			return errRead
		}
		return nil
	})
	if !errors.Is(err, errRead) {
		h.t.Fatal(err)
	}
	return list[:n]
}

// TestTogether: every number is called once, and no more at a time than
// allowed.
func TestTogether(t *testing.T) {
	for n := range 20 {
		var calls [20]atomic.Int32
		var now, most atomic.Int32
		together(n, 4, func(i int) {
			for d := now.Add(1); ; {
				if was := most.Load(); d <= was || most.CompareAndSwap(was, d) {
					break
				}
			}
			calls[i].Add(1)
			now.Add(-1)
		})
		for i := range calls {
			want := int32(0)
			if i < n {
				want = 1
			}
			if got := calls[i].Load(); got != want {
				t.Errorf("%d numbers: %d is called %d times, want %d", n, i, got, want)
			}
		}
		if most.Load() > 4 {
			t.Errorf("%d numbers: %d calls at once, want at most 4", n, most.Load())
		}
	}
}

// TestDueAlarms: those that are due are given, each that holds once, and no
// others.
func TestDueAlarms(t *testing.T) {
	a := newAlarms()
	for i := range 100 {
		a.set(fmt.Sprint("s", i), events.Time(i*37%100))
	}
	a.set("s0", 500) // was due at 0
	a.clear("s1")    // at 37
	got := map[string]int{}
	for token := range a.due(49) {
		got[token]++
	}
	if len(got) != 48 || got["s0"] != 0 || got["s1"] != 0 {
		t.Errorf("got %d sessions %v, want 48 without s0 and s1", len(got), got)
	}
	for token, n := range got {
		if n != 1 || a.at[token] > 49 {
			t.Errorf("%s, due at %d, is given %d times", token, a.at[token], n)
		}
	}
}
