package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
)

// crowd is a log that answers reads of heads only when a number of them wait at the
// same time.
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

func (c *crowd) Head(ctx context.Context, token string) (uint64, events.Record, error) {
	if c.missing.Add(-1) == 0 {
		close(c.all)
	}
	select {
	case <-c.all:
		return c.testBroker.Head(ctx, token)
	case <-ctx.Done():
		return 0, events.Record{}, errors.New("no other read is under way")
	}
}

// Confirm confirms nothing, so that the heads are read.
func (c *crowd) Confirm(_ context.Context, expected []eventlog.Expected) []bool {
	return make([]bool, len(expected))
}

// TestLoadsTogether checks that sessions are read at the same time where several
// are needed: for inputs, for timers that are due, for events that their logs lack,
// and for the checks of a new owner.
func TestLoadsTogether(t *testing.T) {
	const sessions = 8
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	h := open(t, broker.Options{Partitions: 1})
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	rules := lifecycle.DefaultRules()
	partitionOn := func(log Log) *partition {
		return newPartition(&Worker{Log: log, Options: Options{Nonce: "loads", Rules: &rules}, Logger: zerolog.Nop()}, 0)
	}
	inputs := batch{inputs: h.inputs(ctx, sessions), next: sessions + 1, caughtUp: true, done: make(chan struct{}, 1)}

	q := partitionOn(h.broker)
	if err := q.takeOver(ctx, ctx); err != nil {
		t.Fatal(err)
	}
	if err := q.take(ctx, inputs); err != nil || len(q.sessions.resident) != sessions {
		t.Errorf("a batch of %d sessions: got %v and %d sessions, want all", sessions, err, len(q.sessions.resident))
	}
	q.settle(ctx)

	for _, step := range []struct {
		what string
		do   func(*partition, listing) error
	}{
		{"a check of their logs", func(q *partition, l listing) error { _, err := q.lister.open(ctx, l.stored); return err }},
		{"inputs", func(q *partition, _ listing) error {
			<-inputs.done
			return q.take(ctx, inputs)
		}},
		{"timers that are due", func(q *partition, open listing) error {
			q.reading = inputPosition{caughtUp: true, pos: sessions + 1}
			q.listed(ctx, open)
			return q.ring(ctx, time.Now().Add(time.Hour))
		}},
		{"logs that lack events", func(q *partition, open listing) error {
			q.reading.pos = sessions + 1
			for i := range open.open {
				open.open[i].lacking = true
			}
			q.listed(ctx, open)
			return nil
		}},
	} {
		open := listingOf(t, partitionOn(h.broker))
		if len(open.open) != sessions {
			t.Fatalf("got %d sessions with snapshots, want %d", len(open.open), sessions)
		}
		log := newCrowd(h.broker, sessions)
		q := partitionOn(log)
		q.history.epoch = log.Epoch()
		err := q.rules.Begin(nil)
		if err == nil {
			err = step.do(q, open)
		}
		if err == nil {
			err = q.awaitLoads(ctx, ctx)
		}
		if err != nil || log.missing.Load() > 0 {
			t.Errorf("%s: got %v and %d reads less than %d, want all", step.what, err, log.missing.Load(), sessions)
		}
	}
}

// hanging is a log that does not answer reads of one session's snapshot.
type hanging struct {
	*testBroker
	token string
	reads chan struct{} // is closed when the session is read first
	once  atomic.Bool
}

func (h *hanging) LoadSnapshot(ctx context.Context, p int, token string) (broker.Snapshot, bool, error) {
	if token == h.token {
		if h.once.CompareAndSwap(false, true) {
			close(h.reads)
		}
		<-ctx.Done()
		return broker.Snapshot{}, false, ctx.Err()
	}
	return h.testBroker.LoadSnapshot(ctx, p, token)
}

// TestLoadHangs checks that a session whose load gets no answer holds back no
// other session of its partition, and that the checkpoint does not pass its
// inputs: the next worker folds them.
func TestLoadHangs(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond})
	h.publish("hangs", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.publish("other", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("hangs", ofType(events.ToolCallArgsComplete))
	h.wait("other", ofType(events.ToolCallArgsComplete))
	stop()

	log := &hanging{testBroker: h.broker, token: "hangs", reads: make(chan struct{})}
	w := &Worker{Log: log, Options: Options{SnapshotEvery: 10 * time.Millisecond, EvictAfter: time.Millisecond, MaxCompressed: -1, Nonce: "two"}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0}) }()
	waits := h.publish("hangs", "result", fmt.Sprintf(result, 1))
	<-log.reads
	var last uint64
	for i := range 10 { // loads, folds, snapshots and evictions of others
		for _, token := range []string{"other", fmt.Sprint("new", i)} {
			last = h.publish(token, "delta", fmt.Sprintf(callDelta, 2+i, 2+i))
			h.wait(token, func(e events.Record) bool { return e.ID.Seq == last })
		}
	}
	h.until(w, "the input that waits counts as not folded", func(s Stats) bool {
		return len(s.Carried) == 1 && s.Carried[0].Next == waits && s.Carried[0].Checkpoint == waits
	})
	cancel()
	<-done
	if m, _, err := h.broker.LoadCheckpoint(t.Context(), 0); err != nil || m.Seq != waits {
		t.Errorf("got a checkpoint at %d, %v, want it at the input that waits, %d", m.Seq, err, waits)
	}
	h.work(Options{})
	if e := h.wait("hangs", ofType(events.ToolCallResult)); e.ID.Seq != waits {
		t.Errorf("the result is event %s, want it of input %d", e.ID, waits)
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}

// listingOf lists the snapshots of a partition.
func listingOf(t *testing.T, q *partition) listing {
	t.Helper()
	l, err := q.lister.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// inputs reads the first n inputs of partition 0.
func (h *fixture) inputs(ctx context.Context, n int) (list []inputs.Input) {
	h.t.Helper()
	err := h.broker.Inputs(ctx, 0, 1, func(in []inputs.Input, _ uint64, _ bool) error {
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

// TestTogether checks that the function is called once for every number, and no
// more than the allowed number of times at once.
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
