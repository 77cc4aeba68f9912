package worker

import (
	"fmt"
	"testing"

	"streamer/internal/events"
)

// TestAlarmsAreBounded: sessions that set their alarms anew with each input
// leave no trail in the queue, and every alarm that holds still rings, in
// order.
func TestAlarmsAreBounded(t *testing.T) {
	const sessions = 500
	a := newAlarms()
	for round := range 200 {
		for s := range sessions {
			// Now and then an alarm comes back to where it was.
			a.set(fmt.Sprint(s), events.Time(1000+round%7*sessions+s))
		}
		if got := len(a.queue); got > 2*sessions+staleAlarms+1 {
			t.Fatalf("round %d: got %d alarms in the queue of %d sessions", round, got, sessions)
		}
	}
	last := events.Time(0)
	for n := range sessions {
		e, ok := a.next()
		if !ok || e.at < last {
			t.Fatalf("alarm %d: got %+v, %v behind %d, want all in order", n, e, ok, last)
		}
		last = e.at
		a.clear(e.token)
	}
	if e, ok := a.next(); ok {
		t.Errorf("got %+v, want no more alarms than sessions", e)
	}
}
