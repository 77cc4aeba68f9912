package worker

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/rs/zerolog"
)

// TestTimersAreBounded checks that the queue does not grow with sessions that set
// their timers again with each input, and that every timer that holds is due, in
// order.
func TestTimersAreBounded(t *testing.T) {
	const sessions = 500
	a := newTimers()
	for round := range 200 {
		for s := range sessions {
			// Some timers return to an earlier time.
			a.set(fmt.Sprint(s), events.Time(1000+round%7*sessions+s))
		}
		if got := len(a.queue); got > 2*sessions+staleTimers+1 {
			t.Fatalf("round %d: got %d timers in the queue of %d sessions", round, got, sessions)
		}
	}
	last := events.Time(0)
	for n := range sessions {
		e, ok := a.next()
		if !ok || e.at < last {
			t.Fatalf("timer %d: got %+v, %v behind %d, want all in order", n, e, ok, last)
		}
		last = e.at
		a.clear(e.token)
	}
	if e, ok := a.next(); ok {
		t.Errorf("got %+v, want no more timers than sessions", e)
	}
}

// takeOver takes partition 0 over, and gives it no events but that. The test does so.
func (h *fixture) takeOver(log Log, opts Options) *driver {
	h.t.Helper()
	opts.Nonce = fmt.Sprint(time.Now().UnixNano())
	w := &Worker{Log: log, Options: opts, Logger: zerolog.Nop()}
	d := newDriver(h.t.Context(), newPartition(w, 0))
	t, err := w.takeOver(h.t.Context(), d.partition)
	if err != nil {
		h.t.Fatal(err)
	}
	h.step(d, t)
	return d
}

// step passes an event to a partition.
func (h *fixture) step(d *driver, event any) {
	h.t.Helper()
	if err := d.step(event); err != nil {
		h.t.Fatal(err)
	}
}

// read returns the first n inputs to a partition.
func (h *fixture) read(d *driver, n uint64) {
	h.t.Helper()
	h.step(d, batch{inputs: h.inputs(h.t.Context(), int(n)), next: n + 1, caughtUp: true, done: make(chan struct{}, 1)})
}

// TestTimerPutOffWhileBehind checks that no clock input is appended for a timer that
// was delayed, and that is due by the clock but not by the last timestamp read from
// the log.
func TestTimerPutOffWhileBehind(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	d := h.takeOver(h.broker, Options{Rules: short()})
	h.read(d, 1)
	due, ok := d.table.live("a").state.Timer(d.rules.InForce())
	if !ok {
		t.Fatal("an open call has no timer")
	}
	for _, step := range []struct {
		what     string
		caughtUp bool
		asked    uint64
	}{{"behind", false, 0}, {"caught up", true, 1}} {
		d.clock.set("a", 1)
		d.reading.caughtUp = step.caughtUp
		h.step(d, timerDue(due.At.Std().Add(time.Millisecond)))
		if got := d.status.asked.Load(); got != step.asked {
			t.Errorf("%s: asked for %d clock inputs, want %d", step.what, got, step.asked)
		}
	}
}
