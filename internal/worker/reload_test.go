package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/rs/zerolog"
)

// gated is a log that delivers no inputs before a gate opens.
type gated struct {
	*hanging
	waits chan struct{} // is closed when inputs are asked for
	gate  chan struct{}
}

func (g *gated) Inputs(ctx context.Context, p int, from uint64, deliver func([]inputs.Input, uint64, bool) error) error {
	close(g.waits)
	select {
	case <-g.gate:
		return g.hanging.Inputs(ctx, p, from, deliver)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestStopDuringReload checks that a worker which is stopped while it loads a
// session again leaves the inputs that it had folded for that session to the next
// worker. The session was assumed to be new, another worker had stored its first
// events, and so what was folded in memory is dropped.
func TestStopDuringReload(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	log := &gated{
		hanging: &hanging{testBroker: h.broker, token: "a", reads: make(chan struct{})},
		waits:   make(chan struct{}), gate: make(chan struct{}),
	}
	second := &Worker{Log: log, Options: Options{SnapshotEvery: 10 * time.Millisecond, Nonce: "second"}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = second.Run(ctx, []int{0}) }()
	<-log.waits // it has listed the snapshots, and there is none

	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	folded := h.publish("a", "result", fmt.Sprintf(result, 1))
	close(log.gate)
	<-log.reads // its first event was refused
	cancel()
	<-done

	if m, _, err := h.broker.LoadCheckpoint(t.Context(), 0); err != nil || m.Seq > folded {
		t.Errorf("got a checkpoint at %d, %v, want none behind the input %d", m.Seq, err, folded)
	}
	h.work(Options{})
	if e := h.wait("a", ofType(events.ToolCallResult)); e.ID.Seq != folded {
		t.Errorf("the result is event %s, want it of input %d", e.ID, folded)
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}

// slow is a log that answers reads of one session's snapshot only once it may.
type slow struct {
	*hanging
	answer chan struct{}
}

func (s *slow) LoadSnapshot(ctx context.Context, p int, token string) (broker.Snapshot, bool, error) {
	if token != s.token {
		return s.testBroker.LoadSnapshot(ctx, p, token)
	}
	if s.once.CompareAndSwap(false, true) {
		close(s.reads)
	}
	select {
	case <-s.answer:
		return s.testBroker.LoadSnapshot(ctx, p, token)
	case <-ctx.Done():
		return broker.Snapshot{}, false, ctx.Err()
	}
}

// TestReloadWithoutEvents checks that a session which was assumed to be new is
// loaded with its inputs that gave no events, where another worker has stored
// events of later inputs meanwhile and no snapshot. The human message in the first
// input decides what the second means.
func TestReloadWithoutEvents(t *testing.T) {
	const human = `["values",{"messages":[{"type":"human","content":"q","id":"h"},{"content":"","type":"ai","id":"m0"}]}]`
	const answer = `["values",{"messages":[{"type":"human","content":"q","id":"h"},` +
		`{"content":"","type":"ai","id":"m1","tool_calls":[{"name":"f","args":{"x":1},"id":"new","type":"tool_call"}]},` +
		`{"content":"ok","type":"tool","name":"f","id":"tm","tool_call_id":"new","status":"success"},` +
		`{"type":"human","content":"handoff","id":"h9"},{"content":"","type":"ai","id":"m3","tool_calls":[]}]}]`
	h := open(t, broker.Options{Partitions: 1})
	h.publish("a", "delta", human)
	log := &slow{hanging: &hanging{testBroker: h.broker, token: "a", reads: make(chan struct{})}, answer: make(chan struct{})}
	second := &Worker{Log: log, Options: Options{SnapshotEvery: 10 * time.Millisecond, Nonce: "second"}, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = second.Run(ctx, []int{0}) }()
	<-log.reads // the session gave no event that would show that it is new

	h.work(Options{SnapshotEvery: time.Hour})
	last := h.publish("a", "delta", answer)
	h.wait("a", ofType(events.ToolCallResult))
	close(log.answer)
	h.until(second, "a snapshot", func(s Stats) bool { return s.Snapshots > 0 })
	cancel()
	<-done
	s, ok, err := h.broker.LoadSnapshot(t.Context(), 0, "a")
	if !ok || err != nil || s.Header[headerInput] != fmt.Sprint(last) || s.Header[headerTimer] == "" {
		t.Errorf("got a snapshot with headers %v, %v, %v, want one of input %d with the timer of its run", s.Header, ok, err, last)
	}
}

// TestReloadBehindSnapshot checks that a session which was assumed to be new counts as
// no loss where another worker has written a snapshot of it and events of later inputs
// since.
func TestReloadBehindSnapshot(t *testing.T) {
	m := newModel(1, true)
	m.todo = nil
	for i := range m.owners {
		if err := m.birth(i); err != nil {
			t.Fatal(err)
		}
	}
	first, second := m.owners[0], m.owners[1]
	for i := range 2 {
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, i, i))
		if err := first.fold(1); err != nil {
			t.Fatal(err)
		}
		first.settle(t)
		if i == 0 {
			first.q.sessions.writeAll(time.Now())
			first.settle(t)
		}
	}
	m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 2, 2))
	if err := second.fold(3); err != nil {
		t.Fatal(err)
	}
	second.settle(t)
	if refolded, damaged := second.q.status.refolded.Load(), second.q.status.damaged.Load(); refolded != 1 || damaged != 0 {
		t.Errorf("%d sessions were folded again and %d counted as damaged, want 1 and 0", refolded, damaged)
	}
	if err := m.compare(); err != nil {
		t.Error(err)
	}
}
