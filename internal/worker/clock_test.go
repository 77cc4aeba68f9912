package worker

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"

	"github.com/rs/zerolog"
)

// TestAskedOnce checks that a clock input is appended again for the same timer only
// when the one before was read and changed nothing, or when the connection was lost
// before it was read.
func TestAskedOnce(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	log := &otherEpoch{testBroker: h.broker}
	q := newPartition(&Worker{Log: log, Options: Options{Nonce: "n"}, Logger: zerolog.Nop()}, 0)
	if err := q.takeOver(t.Context(), t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(n int) {
		b := batch{inputs: h.inputs(t.Context(), n), next: uint64(n + 1), caughtUp: true, done: make(chan struct{}, 1)}
		if err := q.take(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	read(1)
	due, ok := q.sessions.resident["a"].state.Timer(q.rules.InForce())
	if !ok {
		t.Fatal("an open call has no timer")
	}
	now := due.At.Std().Add(time.Millisecond) // the server's clock is behind this one
	ring := func(what string, want uint64) {
		t.Helper()
		q.clock.set("a", 1)
		if err := q.ring(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if got := q.status.asked.Load(); got != want {
			t.Fatalf("%s: appended %d clock inputs, want %d", what, got, want)
		}
	}
	acknowledge := func() (seq uint64) {
		for {
			a := <-q.appender.acks
			if err := q.acked(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			if _, ok := a.Pub.Key.(clockAsk); ok {
				return a.Seq
			}
		}
	}
	ring("due", 1)
	now = now.Add(time.Hour)
	ring("under way", 1)
	seq := acknowledge()
	ring("stored", 1)
	if s := q.sessions.resident["a"]; s.state.N >= seq {
		t.Fatalf("input %d is folded already, want one below %d", s.state.N, seq)
	}
	read(int(seq))
	ring("read without a change", 2)
	acknowledge()
	now = now.Add(time.Hour)
	ring("stored again", 2)
	log.epoch.Store(1)
	ring("the connection was lost", 3)
}
