package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
)

// inModel runs a test with one owner over logs in memory. Its deadlines are the usual
// ones.
func inModel(t *testing.T, do func(t *testing.T, m *model, o *modelOwner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := newModel(1)
		m.todo, m.replicated = nil, false
		if err := m.birth(0); err != nil {
			t.Fatal(err)
		}
		rules, err := json.Marshal(session.DefaultRules())
		if err != nil {
			t.Fatal(err)
		}
		m.append("", inputs.Rules, rules)
		o := m.owners[0]
		o.q.opts.EvictAfter, o.q.opts.MaxMemory = 24*time.Hour, 1<<30
		o.take(t)
		do(t, m, o)
	})
}

// take folds the inputs that the owner has not read yet.
func (o *modelOwner) take(t *testing.T) {
	t.Helper()
	if err := o.fold(len(o.m.inputs)); err != nil {
		t.Fatal(err)
	}
}

// settle delivers all that is under way, and no answer is lost.
func (o *modelOwner) settle(t *testing.T) {
	t.Helper()
	for len(o.flying)+len(o.acks)+len(o.operations)+len(o.finished) > 0 {
		for _, p := range o.flying {
			seq, err := o.m.apply(p)
			o.acks = append(o.acks, broker.Ack{Pub: p, Seq: seq, Err: err})
		}
		o.flying = nil
		o.operate()
		if err := errors.Join(o.finish(), o.receive()); err != nil {
			t.Fatal(err)
		}
	}
}

// tick lets the owner do all that it does within SnapshotEvery.
func (o *modelOwner) tick(t *testing.T) {
	t.Helper()
	if err := o.step(timerDue(o.m.now)); err != nil {
		t.Fatal(err)
	}
	o.settle(t)
	o.take(t)
	for range ticksEvery {
		if err := o.step(tick(o.m.now)); err != nil {
			t.Fatal(err)
		}
	}
	o.settle(t)
}

// rest lets time pass until the stored snapshots and the checkpoint cover everything.
func (o *modelOwner) rest(t *testing.T) {
	t.Helper()
	o.settle(t)
	for range 5 { // a snapshot is taken and stored, a checkpoint found and written
		o.m.pass(durableAfter + time.Millisecond)
		o.tick(t)
	}
	if got, want := o.m.checkpoints[len(o.m.checkpoints)-1].Seq, o.q.reading.pos; got != want {
		t.Fatalf("the checkpoint is at %d, want %d", got, want)
	}
}

// levels returns the level of each session in the table.
func (o *modelOwner) levels() map[string]int {
	of := map[string]int{}
	for token, e := range o.q.table.of {
		of[token] = e.level
	}
	return of
}

// TestMaxMemory checks that few quiet sessions stay in memory where that is short, even
// if none of them is old, and that evicted sessions continue with their next input.
func TestMaxMemory(t *testing.T) {
	const sessions, most = 60, 10
	h := open(t, broker.Options{})
	w := h.counting(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: 20 * time.Millisecond, EvictAfter: time.Hour, MaxMemory: most * liveCost})
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	for i := range sessions {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
	h.until(w, "few sessions in memory, and all calls open", func(s Stats) bool {
		return s.Sessions <= most && s.Open == sessions && w.memory.Load() <= most*liveCost
	})
	for i := range sessions {
		h.publish(fmt.Sprint("s", i), "result", fmt.Sprintf(result, 1))
	}
	for i := range sessions {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallResult))
	}
	if r := h.quiet(); !r.Faultless() || r.Sessions != sessions {
		t.Errorf("got %+v, want %d sessions without a fault", r, sessions)
	}
}

// TestEvictQuietest checks which sessions leave memory where there are too many: those
// without input for longest, and none whose timer is due soon.
func TestEvictQuietest(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		for i := range 6 {
			m.append(fmt.Sprint("s", i), inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
			o.take(t)
			o.settle(t)
			m.pass(time.Second)
			o.tick(t)
		}
		o.rest(t)
		o.q.opts.MaxMemory = int(o.q.table.bytes) - 5*liveCost/2
		o.tick(t)
		for i := range 6 {
			token := fmt.Sprint("s", i)
			if l := o.q.table.live(token); (l != nil) != (i >= 3) {
				t.Errorf("session %s: in memory is %v, want those with the last inputs to stay", token, l != nil)
			}
		}
		d, ok := o.q.clock.due(o.q.table.live("s5"))
		if !ok {
			t.Fatal("a session with an open call has no timer")
		}
		m.pass(d.next.Std().Add(2*time.Second - timerSoon).Sub(m.now))
		o.q.opts.MaxMemory = 1
		o.tick(t)
		if n := o.q.table.order[live].Len(); n != 3 {
			t.Errorf("%d sessions are left when their timers are due soon, want all 3", n)
		}
	})
}

// TestEvictionSteps checks the steps in which a session leaves memory: it is packed when
// it was not used for long, and only where memory is short it becomes known, and is then
// forgotten. One that has a timer stays known.
func TestEvictionSteps(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		m.append("open", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		m.append("done", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		m.append("done", inputs.Result, fmt.Appendf(nil, result, 1))
		m.append("done", inputs.End, []byte("{}"))
		o.take(t)
		o.rest(t)
		check := func(when string, want map[string]int) {
			t.Helper()
			o.tick(t)
			if got := o.levels(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s: the sessions have the levels %v, want %v", when, got, want)
			}
		}
		check("just used", map[string]int{"open": live, "done": live})
		o.q.opts.EvictAfter = time.Minute
		m.pass(time.Minute)
		check("after a minute", map[string]int{"open": packed, "done": packed})
		if o.q.table.open != 1 {
			t.Errorf("%d calls count as open, want 1", o.q.table.open)
		}
		o.q.opts.MaxMemory = int(o.q.table.bytes) - 1
		check("short of a byte", map[string]int{"open": packed, "done": known})
		o.q.opts.MaxMemory = 1
		check("without memory", map[string]int{"open": known})
		if o.q.table.open != 1 || o.q.table.complete {
			t.Errorf("%d calls count as open, want 1; the table counts as complete: %v, want that it does not", o.q.table.open, o.q.table.complete)
		}
	})
}

// TestBusySessionStays checks that a session stays in memory, however short that is, while
// a snapshot of its last input is not stored.
func TestBusySessionStays(t *testing.T) {
	inModel(t, func(t *testing.T, m *model, o *modelOwner) {
		o.q.opts.MaxMemory, o.q.opts.EvictAfter = 1, 1
		m.append("a", inputs.Delta, fmt.Appendf(nil, callDelta, 1, 1))
		o.take(t)
		for range 2 {
			o.tick(t)
			m.pass(durableAfter / 4)
		}
		if o.q.table.live("a") == nil || len(m.snapshots) > 0 {
			t.Fatalf("the session left memory, or has a snapshot: %v", m.snapshots)
		}
		o.rest(t)
		if o.q.table.live("a") != nil || len(m.snapshots) != 1 {
			t.Errorf("the session is in memory though %d snapshots cover it", len(m.snapshots))
		}
	})
}
