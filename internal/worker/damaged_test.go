package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/audit"
	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/snapshot"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// TestDamagedUnderOwner checks that the owner of a partition replaces the snapshot
// of a resident session, or the checkpoint, after it was deleted, overwritten or
// purged, and continues.
func TestDamagedUnderOwner(t *testing.T) {
	t.Parallel() // it waits more than it computes
	const states, checkpoint = "$KV.STREAMER_SNAPSHOT.0.a", "$KV.STREAMER_CHECKPOINT.0"
	deletion := nats.Header{"KV-Operation": {"DEL"}}
	for name, subjects := range map[string][]string{"snapshot": {states}, "checkpoint": {checkpoint}, "both": {states, checkpoint}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, broker.Options{Partitions: 1})
			w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Hour})
			for i, header := range []nats.Header{deletion, nil} {
				seq := h.publish("a", "delta", fmt.Sprintf(callDelta, i, i))
				h.wait("a", func(s events.Record) bool { return s.ID.Seq >= seq })
				for _, subject := range subjects {
					if a := h.broker.PublishWait(t.Context(), &broker.Pub{Subject: subject, Header: header, Data: []byte("?")}); a.Err != nil {
						t.Fatal(a.Err)
					}
				}
				seq = h.publish("a", "result", fmt.Sprintf(result, i))
				h.until(w, "snapshot and checkpoint are written again", func(Stats) bool {
					s, ok, err := h.broker.LoadSnapshot(t.Context(), 0, "a")
					m, _, failed := h.broker.LoadCheckpoint(t.Context(), 0)
					if err != nil || failed != nil || !ok {
						return false
					}
					return snapshot.ParseHeader(s.Header).Input >= seq && m.Seq > seq
				})
			}
			r, err := audit.Verification{Log: h.broker}.Run(t.Context())
			if err != nil || len(r.Differences) > 0 || w.Problem() != nil {
				t.Errorf("verify: got %v, %v, problem %v, want none", r.Differences, err, w.Problem())
			}
		})
	}
}

// TestOpenedSinceLastReading checks that the worker that takes a partition over
// closes a call that the previous owner opened shortly before, even if the snapshot
// of its session was deleted and the worker has just read the list of open calls
// for another partition.
func TestOpenedSinceLastReading(t *testing.T) {
	t.Parallel() // it waits more than it computes
	h := open(t, broker.Options{Partitions: 2})
	token := "a"
	for h.broker.Partition(token) != 0 {
		token += "a"
	}
	rules := short()
	rules.ResultTimeout = 1500
	options := Options{Rules: rules, SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Millisecond, MaxMemory: 1, Nonce: "first"}
	first := &Worker{Log: h.broker, Options: options, Logger: zerolog.Nop()}
	options.Nonce = "second"
	second := &Worker{Log: h.broker, Options: options, Logger: zerolog.Nop()}
	run := func(w *Worker, partition int) (stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.Run(ctx, []int{partition}) }() // it ends when it is stopped
		if err := w.WaitSettled(ctx, 1); err != nil {
			t.Fatal(err)
		}
		return func() { cancel(); <-done }
	}
	stop := run(first, 0)
	defer run(second, 1)() // it reads the list of open calls
	seq := h.publish(token, "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait(token, ofType(events.ToolCallArgsComplete))
	h.until(first, "the checkpoint covers the call", func(Stats) bool {
		m, _, err := h.broker.LoadCheckpoint(t.Context(), 0)
		return err == nil && m.Seq > seq
	})
	stop()
	deletion := &broker.Pub{Subject: "$KV.STREAMER_SNAPSHOT.0." + token, Header: nats.Header{"KV-Operation": {"DEL"}}}
	if a := h.broker.PublishWait(t.Context(), deletion); a.Err != nil {
		t.Fatal(a.Err)
	}
	defer run(second, 0)()
	h.wait(token, ofType(events.ToolCallResult))
}

// otherEpoch answers one read of an input like a log that was rewound while the
// connection was lost.
type otherEpoch struct {
	*testBroker
	input atomic.Uint64 // its sequence; 0 when it was read
	epoch atomic.Uint64
}

func (o *otherEpoch) Epoch() uint64 { return o.testBroker.Epoch() + o.epoch.Load() }

func (o *otherEpoch) Input(ctx context.Context, seq uint64) (inputs.Input, bool, error) {
	in, ok, err := o.testBroker.Input(ctx, seq)
	if ok && o.input.CompareAndSwap(seq, 0) {
		o.epoch.Add(1)
		in.At = in.At.Add(time.Hour)
	}
	return in, ok, err
}

// TestCheckpointOfOneEpoch checks that a checkpoint does not identify an input by a
// read in a later connection epoch.
func TestCheckpointOfOneEpoch(t *testing.T) {
	t.Parallel() // it waits more than it computes
	h := open(t, broker.Options{Partitions: 2})
	log := &otherEpoch{testBroker: h.broker}
	token := "a"
	for h.broker.Partition(token) != 1 {
		token += "a"
	}
	w := &Worker{Log: log, Options: Options{Nonce: "one", SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.Run(ctx, []int{0}) }() // it ends when it is stopped
	if err := w.WaitSettled(ctx, 1); err != nil {
		t.Fatal(err)
	}
	seq := h.publish(token, "end", "{}") // of the other partition
	log.input.Store(seq)
	h.until(w, "the input was asked for in another epoch", func(Stats) bool { return log.input.Load() == 0 })
	h.publish(token, "end", "{}") // so that the position moves
	h.until(w, "the checkpoint is behind the input", func(Stats) bool {
		m, _, err := h.broker.LoadCheckpoint(t.Context(), 0)
		if err == nil && m.Read.At.After(time.Now().Add(time.Minute)) {
			t.Fatalf("the checkpoint identifies input %d by what was read in another epoch", m.Read.Seq)
		}
		return err == nil && m.Seq > seq
	})
	cancel()
	<-done
}

// TestSnapshotsLostTheirEnd: of a session nothing is left but its inputs, because the event
// log and the snapshots lost their ends. It is folded again, and its call gets its result.
func TestSnapshotsLostTheirEnd(t *testing.T) {
	t.Parallel() // it waits more than it computes
	h := open(t, broker.Options{Partitions: 1})
	options := Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 10 * time.Millisecond, EvictAfter: time.Millisecond}
	run := func(nonce string) (w *Worker, stop func()) {
		options.Nonce = nonce
		w = &Worker{Log: h.broker, Options: options, Logger: zerolog.Nop()}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = w.Run(ctx, []int{0}) }() // it ends when it is stopped
		h.settled(w)
		return w, func() { cancel(); <-done }
	}
	w, stop := run("first")
	h.publish("old", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.publish("old", "result", fmt.Sprintf(result, 1))
	h.wait("old", ofType(events.ToolCallResult))
	h.until(w, "the snapshot of the older session", func(Stats) bool {
		_, ok, err := h.broker.LoadSnapshot(t.Context(), 0, "old")
		return ok && err == nil
	})
	seq := h.publish("new", "delta", fmt.Sprintf(callDelta, 2, 2))
	h.wait("new", ofType(events.ToolCallArgsComplete))
	h.until(w, "the checkpoint covers the call", func(Stats) bool {
		m, _, err := h.broker.LoadCheckpoint(t.Context(), 0)
		return err == nil && m.Seq > seq
	})
	stop()
	if n, err := h.broker.Purge(t.Context(), broker.StreamEvents, "toolcalls.new.>", 0); err != nil || n == 0 {
		t.Fatalf("%d events purged, %v", n, err)
	}
	least := uint64(0)
	for _, token := range []string{"new", "old"} { // that of the older session may have been stored later
		stored, ok, err := h.broker.LoadSnapshot(t.Context(), 0, token)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		if stored.Rev < least {
			continue
		}
		least = stored.Rev
		if n, err := h.broker.Purge(t.Context(), "KV_STREAMER_SNAPSHOT", "$KV.STREAMER_SNAPSHOT.0."+token, 0); err != nil || n == 0 {
			t.Fatalf("%d snapshots purged, %v", n, err)
		}
	}
	_, stop = run("second")
	defer stop()
	h.publish("new", "result", fmt.Sprintf(result, 2))
	h.wait("new", ofType(events.ToolCallStart))
	h.wait("new", ofType(events.ToolCallResult))
	if r, err := (audit.Verification{Log: h.broker}).Run(t.Context()); err != nil || len(r.Differences) > 0 {
		t.Errorf("verify: got %v, %v, want none", r.Differences, err)
	}
}
