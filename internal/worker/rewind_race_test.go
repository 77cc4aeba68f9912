package worker

import (
	"context"
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

// growing is a log in which inputs are stored right after a read of one.
type growing struct {
	Log
	grow func()
}

func (g *growing) Input(ctx context.Context, seq uint64) (inputs.Input, bool, error) {
	in, ok, err := g.Log.Input(ctx, seq)
	if g.grow != nil {
		g.grow()
		g.grow = nil
	}
	return in, ok, err
}

// TestRewoundWhileInputsCome checks that a lost input does not count as deleted if
// another is stored under its sequence while it is being read.
func TestRewoundWhileInputsCome(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1, Embed: listening(t)})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	log := &growing{Log: h.broker, grow: func() {
		h.publish("a", "delta", fmt.Sprintf(callDelta, 2, 2))
		h.publish("a", "delta", fmt.Sprintf(callDelta, 3, 3))
	}}
	check := inputCheck{log: log}
	lost := evidence{n: 3, token: "a", at: time.Now().Add(-time.Minute)}
	if good, err := check.intact(t.Context(), lost); good || err != nil || check.genuine != 0 {
		t.Errorf("an input of a minute ago, where another is: got %v, %v, want that the log was rewound", good, err)
	}
	if err := h.stream("LLM").DeleteMsg(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if good, err := check.intact(t.Context(), evidence{n: 2, token: "a", at: lost.at}); !good || err != nil {
		t.Errorf("an input that was deleted: got %v, %v, want that it proves nothing", good, err)
	}
}
