package worker

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
)

// TestAskedOnce checks that a clock input is appended again for the same timer only
// when the one before was read and changed nothing, or when the connection was lost
// before it was read.
func TestAskedOnce(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	log := &otherEpoch{testBroker: h.broker}
	d := h.takeOver(log, Options{})
	h.read(d, 1)
	due, ok := d.table.live("a").state.Timer(d.rules.InForce())
	if !ok {
		t.Fatal("an open call has no timer")
	}
	now := due.At.Std().Add(time.Millisecond) // the server's clock is behind this one
	rings := func(what string, want uint64) {
		t.Helper()
		d.clock.set("a", 1)
		h.step(d, timerDue(now))
		if got := d.status.asked.Load(); got != want {
			t.Fatalf("%s: appended %d clock inputs, want %d", what, got, want)
		}
	}
	acknowledge := func() (seq uint64) {
		for {
			a := <-d.acks
			h.step(d, a)
			if _, ok := a.Pub.Key.(clockAsk); ok {
				return a.Seq
			}
		}
	}
	rings("due", 1)
	now = now.Add(time.Hour)
	rings("under way", 1)
	seq := acknowledge()
	rings("stored", 1)
	if s := d.table.live("a"); s.state.N >= seq {
		t.Fatalf("input %d is folded already, want one below %d", s.state.N, seq)
	}
	h.read(d, seq)
	rings("read without a change", 2)
	acknowledge()
	now = now.Add(time.Hour)
	rings("stored again", 2)
	log.epoch.Store(1)
	rings("the connection was lost", 3)
}
