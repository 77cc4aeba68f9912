package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestPacked checks how a session that left memory returns: packed, it does without a read
// while the connection lasts, and else is compared with its event log. Where only its place
// is known, its snapshot is read, and its event log only where the connection was lost or
// another worker has stored a snapshot.
func TestPacked(t *testing.T) {
	for _, c := range []struct {
		what    string
		level   int
		epoch   uint64 // by which it is later
		another bool   // snapshot is stored
		heads   int    // reads of the event log
		states  int    // reads of the snapshot
	}{
		{"packed, the same connection", packed, 0, false, 0, 0},
		{"packed, another connection", packed, 1, false, 1, 0},
		{"known, the same connection", known, 0, false, 0, 1},
		{"known, another connection", known, 1, false, 1, 1},
		{"known, another snapshot", known, 0, true, 1, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			inModel(t, func(t *testing.T, m *model, o *modelOwner) {
				q := o.q
				counts := &counted{Log: q.log}
				q.log = counts
				seq := m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
				o.take(t)
				o.rest(t)
				seq = max(seq, q.table.live("a").state.N)
				rev := m.snapshots["a"].rev
				q.opts.EvictAfter = time.Second
				m.pass(time.Second)
				o.tick(t)
				if c.level == known {
					q.opts.MaxMemory = int(q.table.bytes) - 1
					o.tick(t)
					q.opts.MaxMemory = 1 << 30
				}
				if e := q.table.of["a"]; e.level != c.level || e.place.rev != rev {
					t.Fatalf("the session is %+v, want it at level %d, with revision %d", e, c.level, rev)
				}
				m.epoch += c.epoch
				if c.another {
					k := m.snapshots["a"]
					m.rev++
					k.rev = m.rev
					m.snapshots["a"] = k
				}
				o.tick(t) // the logs are found to be the same
				counts.heads, counts.states = 0, 0
				last := m.append("a", inputs.Result, fmt.Appendf(nil, result, 1))
				o.take(t)
				if s := q.table.live("a"); (s == nil) != (c.heads+c.states > 0) {
					t.Errorf("the session is %+v, want that it waits for reads: %v", s, c.heads+c.states > 0)
				}
				o.settle(t)
				if counts.heads != c.heads || counts.states != c.states {
					t.Errorf("%d reads of the event log and %d of the snapshot, want %d and %d", counts.heads, counts.states, c.heads, c.states)
				}
				s := q.table.live("a")
				if s == nil || s.state.N != last || s.snapshot.rev != m.snapshots["a"].rev || s.snapshot.first <= seq || len(s.log.queue) > 0 || s.log.refusals > 0 || !q.clock.has("a") {
					t.Fatalf("got %+v, want the session after input %d, with its revision and its timer", s, last)
				}
				if e := m.event(len(m.log) - 1); e.ID.Seq != last || s.log.id != e.ID || q.status.adopted.Load() != 0 || q.status.refolded.Load() != 0 {
					t.Errorf("the last event is %s, want it of input %d; %d events were stored already, %d sessions folded again", e.ID, last, q.status.adopted.Load(), q.status.refolded.Load())
				}
				if err := tallied(q); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPackedTimer checks that the timer of a session that left memory is kept, and brings
// the session back.
func TestPackedTimer(t *testing.T) {
	for level, most := range map[int]int{packed: 1 << 30, known: 1} {
		inModel(t, func(t *testing.T, m *model, o *modelOwner) {
			m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
			o.take(t)
			o.rest(t)
			d, ok := o.q.clock.due(o.q.table.live("a"))
			if !ok {
				t.Fatal("an open call has no timer")
			}
			o.q.opts.EvictAfter, o.q.opts.MaxMemory = time.Second, most
			m.pass(time.Second)
			o.tick(t)
			if e := o.q.table.of["a"]; e.level != level || o.q.clock.at["a"] != d.next {
				t.Fatalf("the session is %+v, and its timer at %d, want level %d and %d", e, o.q.clock.at["a"], level, d.next)
			}
			m.pass(d.next.Std().Sub(m.now) - time.Millisecond)
			n := len(m.inputs)
			o.tick(t)
			m.pass(2 * time.Millisecond)
			if len(m.inputs) > n {
				t.Fatalf("input %+v before the timer is due", m.inputs[n])
			}
			o.tick(t)
			o.tick(t) // when it is loaded
			if len(m.inputs) == n || m.inputs[n].Kind != inputs.Clock || m.inputs[n].Token != "a" {
				t.Errorf("got %d more inputs, want one of the clock", len(m.inputs)-n)
			}
		})
	}
}

// counted is a log whose reads are counted.
type counted struct {
	Log
	heads, states int
}

func (c *counted) Head(ctx context.Context, token string) (uint64, events.Record, error) {
	c.heads++
	return c.Log.Head(ctx, token)
}

func (c *counted) LoadSnapshot(ctx context.Context, p int, token string) (broker.Snapshot, bool, error) {
	c.states++
	return c.Log.LoadSnapshot(ctx, p, token)
}
