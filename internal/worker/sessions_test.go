package worker

import (
	"container/list"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// tallied returns an error where what a partition keeps up to date of its sessions is not
// what a count of all of them gives.
func tallied(q *partition) error {
	t, open, bytes := &q.table, 0, int64(0)
	var sizes [levels]int
	for token, e := range t.of {
		open += e.open
		size := entryCost + 2*len(token) + len(e.data)
		if e.level == live {
			size += liveCost
		}
		bytes += int64(size)
		switch {
		case e.live != nil && (e.level != live || e.live.entry != e || e.live.gone):
			return fmt.Errorf("session %s: has a state at level %d", token, e.level)
		case e.live != nil && e.open != e.live.state.Life.Open():
			return fmt.Errorf("session %s: %d calls count as open, want %d", token, e.open, e.live.state.Life.Open())
		case e.level == live && e.live == nil && q.loads.of[token] == nil:
			return fmt.Errorf("session %s: counts as live, and has no state", token)
		case e.level == packed != (e.data != nil):
			return fmt.Errorf("session %s: has %d bytes at level %d", token, len(e.data), e.level)
		case e.in == nil && (e.level != known || !q.clock.has(token) && q.loads.of[token] == nil):
			return fmt.Errorf("session %s: cannot leave memory at level %d", token, e.level)
		case e.in != nil:
			sizes[e.level]++
			if e.in.Value.(*entry) != e {
				return fmt.Errorf("session %s: another one is in its place of the order", token)
			}
		}
	}
	for level, order := range t.order {
		if order.Len() != sizes[level] {
			return fmt.Errorf("%d sessions are in the order of level %d, want %d: %v", order.Len(), level, sizes[level], tokensIn(order))
		}
	}
	if t.open != open || t.bytes != bytes || t.all.Load() != bytes {
		return fmt.Errorf("got %d calls and %d bytes, %d of all partitions, want %d and %d", t.open, t.bytes, t.all.Load(), open, bytes)
	}
	pos, uncovered, queued := q.reading.pos, q.held.uncovered(q.reading.pos), 0
	for _, e := range t.of {
		if s := e.live; s != nil {
			queued += s.log.bytes()
			if s.snapshot.first != 0 && !s.log.stuck {
				uncovered = min(uncovered, s.snapshot.first)
			}
		}
	}
	for _, l := range q.loads.of {
		if s := l.memory; s != nil && s.snapshot.first != 0 && !s.gone {
			uncovered = min(uncovered, s.snapshot.first)
		}
	}
	if in := q.loads.oldest(); in != nil {
		uncovered = min(uncovered, in.Seq)
	}
	if got := q.uncovered(); got != uncovered {
		return fmt.Errorf("the first input below %d that is not covered is %d, want %d", pos, got, uncovered)
	}
	if q.appender.queued != queued {
		return fmt.Errorf("%d bytes of events count as not stored, want %d", q.appender.queued, queued)
	}
	return nil
}

func tokensIn(order *list.List) (tokens []string) {
	for at := order.Front(); at != nil; at = at.Next() {
		tokens = append(tokens, at.Value.(*entry).token)
	}
	return tokens
}

// TestTallies checks after each step of random schedules what a partition keeps up to date
// of its sessions: their levels, open calls and bytes, and the first input that no snapshot
// covers.
func TestTallies(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(seed)
			for i := range m.owners {
				if err := m.birth(i); err != nil {
					t.Fatal(err)
				}
			}
			for i := range 150 {
				m.pass(time.Millisecond)
				if err := m.step(); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, i, err)
				}
				for _, o := range m.owners {
					if err := tallied(o.q); err != nil {
						t.Fatalf("seed %d, step %d: %v", seed, i, err)
					}
				}
			}
		})
	}
}

// TestHeldIsNotLive checks that a session that was in memory, and is held because its event
// log has what its inputs do not give, does not count as live any more.
func TestHeldIsNotLive(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		seq := m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		o.take(t)
		o.rest(t)
		m.first = uint64(len(m.inputs) + 1)
		delete(m.snapshots, "a")
		m.log = append(m.log, modelEvent{token: "a", id: events.ID{Seq: seq, N: 99}, kind: events.ToolCallStart, call: "none", body: []byte("{}"), at: m.now})
		m.append("a", inputs.Result, fmt.Appendf(nil, result, 1))
		o.take(t)
		o.settle(t)
		if !o.q.held.has("a") {
			t.Fatalf("the session is not held: %+v", o.q.table.live("a"))
		}
		if err := tallied(o.q); err != nil {
			t.Error(err)
		}
		o.q.opts.EvictAfter, o.q.opts.MaxMemory = 1, 1
		m.pass(time.Minute)
		o.tick(t)
		if got := o.levels(); len(got) != 0 || o.q.table.bytes != 0 {
			t.Errorf("%d bytes are left, the sessions have the levels %v, want none", o.q.table.bytes, got)
		}
	})
}
