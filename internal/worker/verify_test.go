package worker

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/events"

	"github.com/nats-io/nats.go/jetstream"
)

// expiring is a log whose inputs expire whenever somebody begins to read them.
type expiring struct {
	*broker.Broker
	inputs jetstream.Stream
	first  uint64
}

func (e *expiring) Inputs(ctx context.Context, p int, from uint64, deliver func([]broker.Input, uint64, bool) error) error {
	if e.first++; e.first < 8 {
		if err := e.inputs.Purge(ctx, jetstream.WithPurgeSequence(e.first)); err != nil {
			return err
		}
	}
	return e.Broker.Inputs(ctx, p, from, deliver)
}

// TestVerifyWhileInputsExpire: on a log that is as old as its inputs get, some
// are always gone by the time they would be read. What is compared is the rest.
func TestVerifyWhileInputsExpire(t *testing.T) {
	h := open(t, broker.Options{Partitions: 4, Listen: "127.0.0.1:0"})
	h.work(Options{})
	for i := range 20 {
		h.publish(fmt.Sprint("s", i), "delta", fmt.Sprintf(callDelta, 1, 1))
	}
	for i := range 20 {
		h.wait(fmt.Sprint("s", i), ofType(events.ToolCallArgsComplete))
	}
	e := &expiring{h.broker, h.stream("LLM"), 1}
	r, err := Verify(t.Context(), e)
	if err != nil || len(r.Differences) > 0 || r.Older == 0 || r.Sessions+r.Older != 20 || r.Inputs != r.Sessions {
		t.Errorf("got %+v, %v, want no difference, some older sessions, and the others compared", r, err)
	}
}

// TestVerifyUnknown: a session that was misspelt is not one that agrees.
func TestVerifyUnknown(t *testing.T) {
	h := open(t, broker.Options{})
	h.work(Options{})
	h.publish("known", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("known", ofType(events.ToolCallArgsComplete))
	r, err := Verify(t.Context(), h.broker, "known", "knwon")
	if err != nil || r.Sessions != 1 || len(r.Differences) > 0 || !slices.Equal(r.Unknown, []string{"knwon"}) {
		t.Errorf("got %+v, %v, want one session compared and knwon unknown", r, err)
	}
}
