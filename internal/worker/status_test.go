package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/snapshot"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

// counting runs a worker whose Stats can be read, until the test ends.
func (h *fixture) counting(opts Options) *Worker {
	opts.Nonce = fmt.Sprint(time.Now().UnixNano())
	w := &Worker{Log: h.broker, Options: opts, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, all(h.broker)) }()
	h.t.Cleanup(func() { cancel(); <-done })
	h.settled(w)
	return w
}

// TestHeldIsReported: a held session is counted and a warning, but no problem of the
// process, until an operator has closed it.
func TestHeldIsReported(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	store := func(rev uint64, header *snapshot.Header) {
		t.Helper()
		pub, _ := h.broker.SnapshotPub(0, "a", rev, header.Map(), nil)
		if a := h.broker.PublishWait(t.Context(), pub); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	store(0, &snapshot.Header{Held: "and its inputs expired"})
	w := h.counting(Options{RecoveredEvery: 10 * time.Millisecond})
	h.until(w, "it is held", func(s Stats) bool { return s.Held == 1 })
	if got := w.Warnings(); len(got) != 1 || !strings.Contains(got[0], "and its inputs expired; `streamer recover` shows") || w.Problem() != nil {
		t.Errorf("got the warnings %q and the problem %v", got, w.Problem())
	}
	stored, ok, err := h.broker.LoadSnapshot(t.Context(), 0, "a")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	store(stored.Rev, &snapshot.Header{})
	h.until(w, "it is released", func(s Stats) bool { return s.Held == 0 && len(w.Warnings()) == 0 })
}

// until waits until the stats are as expected.
func (h *fixture) until(w *Worker, what string, right func(Stats) bool) Stats {
	h.t.Helper()
	var s Stats
	testkit.Until(h.t, what, func() error {
		if s = w.Stats(); !right(s) {
			return fmt.Errorf("got %+v", s)
		}
		return nil
	})
	return s
}

// TestStats checks the counts of inputs, events and calls, also after sessions left
// memory.
func TestStats(t *testing.T) {
	t.Parallel() // it waits more than it computes
	h := open(t, broker.Options{})
	w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Millisecond, MaxMemory: 1})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.publish("b", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("b", ofType(events.ToolCallArgsComplete))
	h.publish("a", "result", fmt.Sprintf(result, 1))
	h.publish("c", "delta", `{"choices":`)
	h.publish("c", "end", `{}`)
	foreign := fmt.Sprintf("_llm.%d.a.delta", (h.broker.Partition("a")+1)%h.broker.Partitions())
	if a := h.broker.PublishWait(t.Context(), &broker.Pub{Subject: foreign, Data: []byte("{}")}); a.Err != nil {
		t.Fatal(a.Err)
	}
	// The call of b stays open, even if its session leaves memory.
	s := h.until(w, "every input is folded, and every event and snapshot stored, one call open", func(s Stats) bool {
		return s.Folded >= 5 && s.Skipped == 1 && s.Rejected == 1 && s.Sessions == 0 && s.Snapshots > 0 && s.Queued == 0 && s.Open == 1
	})
	completed := s.Closed[slices.Index(Ends[:], events.Completed)]
	if s.Started != 2 || completed != 1 || s.Open != 1 || s.Stuck != 0 || s.Restarts != 0 || s.Refused != 0 {
		t.Errorf("two calls, one with a result: got %+v, want 2 started, 1 completed, 1 open", s)
	}
	if len(s.Carried) != h.broker.Partitions() || s.Carried[1].Partition != 1 {
		t.Errorf("carried: got %+v, want partitions 0 to 3", s.Carried)
	}
	h.publish("b", "interrupt", `{}`)
	h.until(w, "the call of b is cancelled", func(s Stats) bool {
		return s.Open == 0 && s.Closed[slices.Index(Ends[:], events.Cancelled)] == 1
	})
	p := h.broker.Partition("b")
	s = h.until(w, "the checkpoint moves behind the snapshots", func(s Stats) bool { return s.Carried[p].Checkpoint == s.Carried[p].Next })
	if err := w.Problem(); err != nil || s.Carried[p].Behind > farBehind {
		t.Errorf("a worker that is up to date: got problem %v, %v behind", err, s.Carried[p].Behind)
	}
}

// TestStatsOfEvictedSessions checks that a call that was open before the worker
// started counts as open, even if its session gets no input.
func TestStatsOfEvictedSessions(t *testing.T) {
	h := open(t, broker.Options{})
	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Millisecond, MaxMemory: 1})
	h.until(w, "one open call, no session in memory", func(s Stats) bool { return s.Open == 1 && s.Sessions == 0 })
}

// TestReplacedInputs checks that the partitions stop if the input stream was deleted
// and created again: its sequences are those of other inputs.
func TestReplacedInputs(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Embed: listening(t)})
	w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	js, s := h.jetStream(), h.stream("LLM")
	if err := js.DeleteStream(t.Context(), "LLM"); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), s.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	for by := time.Now().Add(brokertest.Within); ; {
		s := w.Stats()
		if err := w.Problem(); errors.Is(err, broker.ErrReplaced) && len(s.Carried) > 0 && s.Carried[0].Stopped {
			return
		} else if time.Now().After(by) {
			t.Fatalf("got problem %v, %+v, want that the input stream was replaced", err, s)
		}
		_, _ = h.broker.Members(t.Context()) // a pause
	}
}

// TestBehind checks that a partition is behind while the timestamp of the input that
// it folds is old, or while its owner does not update its status, and that one that
// was handed over is not behind.
func TestBehind(t *testing.T) {
	now := time.Now()
	w := &Worker{}
	m := w.statuses.of(3)
	for _, c := range []struct {
		what        string
		carried     bool
		since, beat time.Duration // ago
		problem     string
	}{
		{"nothing is known yet", true, 0, 0, ""},
		{"read to the end", true, 0, time.Second, ""},
		{"some seconds late", true, 30 * time.Second, time.Second, ""},
		{"an hour late", true, time.Hour, time.Second, "partition 3 is 1h0m0s behind the input log"},
		{"held up", true, 0, 2 * time.Minute, "partition 3 is 2m0s behind the input log"},
		{"handed over", false, time.Hour, time.Hour, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			ago := func(d time.Duration) int64 {
				if d == 0 {
					return 0
				}
				return now.Add(-d).UnixMilli()
			}
			m.carried.Store(c.carried)
			m.since.Store(ago(c.since))
			m.beat.Store(ago(c.beat))
			got := ""
			if err := w.late(now); err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.problem) || (got == "") != (c.problem == "") {
				t.Errorf("%s: got %q, want %q", c.what, got, c.problem)
			}
		})
	}
}

// TestOverload: a partition is overloaded if it is far behind a minute after it was taken
// over. Before, it may read what was stored while it had no owner.
func TestOverload(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		what         string
		since, taken time.Duration // ago
		want         time.Duration
	}{
		{"some seconds late", 20 * time.Second, time.Hour, 0},
		{"late", 40 * time.Second, time.Hour, 40 * time.Second},
		{"late after an outage", time.Hour, 30 * time.Second, 0},
		{"still late after an outage", time.Hour, 2 * time.Minute, time.Hour},
	} {
		t.Run(c.what, func(t *testing.T) {
			var st status
			st.since.Store(now.Add(-c.since).UnixMilli())
			st.taken.Store(now.Add(-c.taken).UnixMilli())
			if got := st.overload(now).Round(time.Second); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	st := new(status)
	st.taken.Store(now.Add(-time.Hour).UnixMilli())
	if got := st.overload(now); got != 0 {
		t.Errorf("a partition that has read everything: got %v", got)
	}
}

// TestStoredTo: an input counts when its events are acknowledged, and not when it is folded.
func TestStoredTo(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	seq := h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	d := h.takeOver(h.broker, Options{})
	stored := func() uint64 {
		for range ticksEvery {
			h.step(d, tick(time.Now()))
		}
		return d.status.stored.Load()
	}
	h.read(d, seq)
	if got := stored(); got != seq {
		t.Errorf("folded: got %d, want %d", got, seq)
	}
	if ok, err := d.until(t.Context().Done(), func() bool { return d.appender.queued == 0 }); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := stored(); got != seq+1 {
		t.Errorf("acknowledged: got %d, want %d", got, seq+1)
	}
}
