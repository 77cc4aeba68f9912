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

// gated is a log that delivers no inputs before a gate opens, and then does not answer
// reads of heads.
type gated struct {
	*testBroker
	waits chan struct{} // is closed when inputs are asked for
	gate  chan struct{}
	reads chan struct{} // is closed when a head is read first behind the gate
}

func (g *gated) Inputs(ctx context.Context, p int, from uint64, deliver func([]inputs.Input, uint64, bool) error) error {
	close(g.waits)
	select {
	case <-g.gate:
		return g.testBroker.Inputs(ctx, p, from, deliver)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gated) Head(ctx context.Context, token string) (uint64, events.Record, error) {
	select {
	case <-g.gate:
	default:
		return g.testBroker.Head(ctx, token)
	}
	close(g.reads)
	<-ctx.Done()
	return 0, events.Record{}, ctx.Err()
}

// TestStopDuringReload checks that a worker which is stopped while it loads a
// session again leaves the inputs that it had folded for that session to the next
// worker. The session was taken to be new, and another worker had stored its first events.
func TestStopDuringReload(t *testing.T) {
	t.Parallel()
	h := open(t, broker.Options{Partitions: 1})
	log := &gated{testBroker: h.broker, waits: make(chan struct{}), gate: make(chan struct{}), reads: make(chan struct{})}
	options := Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: time.Millisecond, Nonce: "second"}
	second := &Worker{Log: log, Options: options, Logger: zerolog.Nop()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = second.Run(ctx, []int{0}) }()
	<-log.waits // it has listed the snapshots, and there is none

	// The first worker is another program, which dies without a snapshot.
	d := h.takeOver(h.broker, Options{})
	first := h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.read(d, first)
	if ok, err := d.until(t.Context().Done(), func() bool { return len(d.table.live("a").log.queue) == 0 }); !ok || err != nil {
		t.Fatal(ok, err)
	}
	folded := h.publish("a", "result", fmt.Sprintf(result, 1))
	close(log.gate)
	<-log.reads // its first event was refused
	cancel()
	<-done

	if m, _, err := h.broker.LoadCheckpoint(t.Context(), 0); err != nil || m.Seq > first {
		t.Errorf("got a checkpoint at %d, %v, want none behind the input %d", m.Seq, err, first)
	}
	h.work(Options{})
	if e := h.wait("a", ofType(events.ToolCallResult)); e.ID.Seq != folded {
		t.Errorf("the result is event %s, want it of input %d", e.ID, folded)
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}

// TestLoadWithoutEvents checks that a session without a snapshot is loaded with its inputs
// that gave no events, where another worker has stored events of later inputs. The human
// message in the first input decides what the second means.
func TestLoadWithoutEvents(t *testing.T) {
	const human = `["values",{"messages":[{"type":"human","content":"q","id":"h"},{"content":"","type":"ai","id":"m0"}]}]`
	const answer = `["values",{"messages":[{"type":"human","content":"q","id":"h"},` +
		`{"content":"","type":"ai","id":"m1","tool_calls":[{"name":"f","args":{"x":1},"id":"new","type":"tool_call"}]},` +
		`{"content":"ok","type":"tool","name":"f","id":"tm","tool_call_id":"new","status":"success"},` +
		`{"type":"human","content":"handoff","id":"h9"},{"content":"","type":"ai","id":"m3","tool_calls":[]}]}]`
	for _, evicted := range []bool{false, true} {
		t.Run(fmt.Sprint("evicted=", evicted), func(t *testing.T) {
			inModel(t, func(t *testing.T, m *model, o *modelOwner) {
				m.append("a", inputs.Delta, []byte(human))
				o.take(t)
				if n := len(o.q.table.live("a").log.queue); n > 0 {
					t.Fatalf("the first input gave %d events, want none", n)
				}
				last := m.append("a", inputs.Delta, []byte(answer))
				o.take(t)
				o.settle(t)
				want, stored := o.q.table.live("a").state.Life.Open(), len(m.log)
				if evicted { // the checkpoint covers both, and the snapshot is lost
					o.rest(t)
					stored = len(m.log)
					delete(m.snapshots, "a")
				}
				if err := m.birth(0); err != nil {
					t.Fatal(err)
				}
				o = m.owners[0]
				o.settle(t)
				m.append("a", inputs.Progress, []byte(`{"tool_call_id":"none"}`))
				o.take(t)
				o.settle(t)
				s := o.q.table.live("a")
				if s == nil || s.state.N <= last || s.state.Life.Open() != want || o.q.status.diverged.Load() > 0 || len(s.log.queue) > 0 {
					t.Fatalf("the session is %+v, want it behind input %d; %d events differ", s, last, o.q.status.diverged.Load())
				}
				for i := stored; i < len(m.log); i++ {
					if e := m.event(i); e.ID.Seq <= last {
						t.Errorf("event %s is stored again", e.ID)
					}
				}
			})
		})
	}
}

// TestReloadBehindSnapshot checks that a session which was taken to be new counts as
// no loss where another worker has written a snapshot of it and events of later inputs
// since, and that the checkpoint covers it again when its snapshot is replaced.
func TestReloadBehindSnapshot(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, _ *modelOwner) {
		for i := range m.owners {
			if err := m.birth(i); err != nil {
				t.Fatal(err)
			}
		}
		first, second := m.owners[0], m.owners[1]
		for i := range 2 {
			m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, i, i))
			first.take(t)
			first.settle(t)
			if i == 0 {
				first.saveNow(t)
				first.q.snapshots.every = time.Hour
			}
		}
		last := m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 2, 2))
		second.take(t)
		second.settle(t)
		st := second.q.status
		if refolded, damaged, diverged := st.refolded.Load(), st.damaged.Load(), st.diverged.Load(); refolded+damaged+diverged > 0 {
			t.Errorf("%d sessions were folded again, %d counted as damaged and %d events differ, want 0", refolded, damaged, diverged)
		}
		if e := m.event(len(m.log) - 1); e.ID.Seq != last {
			t.Errorf("the last event is %s, want it of input %d", e.ID, last)
		}
		second.rest(t)
		if h := m.covers("a"); h.Input < last || st.snapshotConflicts.Load() == 0 {
			t.Errorf("the snapshot is %+v after %d refused ones, want one of input %d after some", h, st.snapshotConflicts.Load(), last)
		}
	})
}
