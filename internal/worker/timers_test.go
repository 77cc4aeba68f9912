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

// TestTimerPutOffWhileBehind checks that no clock input is appended for a timer that
// was delayed, and that is due by the clock but not by the last timestamp read from
// the log.
func TestTimerPutOffWhileBehind(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	q := newPartition(&Worker{Log: h.broker, Options: Options{Nonce: "n", Rules: short()}, Logger: zerolog.Nop()}, 0)
	if err := q.takeOver(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	b := batch{inputs: h.inputs(t.Context(), 1), next: 2, done: make(chan struct{}, 1)}
	if err := q.take(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	due, ok := q.sessions.resident["a"].state.Timer(q.rules.InForce())
	if !ok {
		t.Fatal("an open call has no timer")
	}
	for _, step := range []struct {
		what     string
		caughtUp bool
		asked    uint64
	}{{"behind", false, 0}, {"caught up", true, 1}} {
		q.clock.set("a", 1)
		q.reading.caughtUp = step.caughtUp
		if err := q.ring(t.Context(), due.At.Std().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if got := q.status.asked.Load(); got != step.asked {
			t.Errorf("%s: asked for %d clock inputs, want %d", step.what, got, step.asked)
		}
	}
}
