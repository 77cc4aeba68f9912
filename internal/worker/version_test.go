package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// TestOlderFold checks that events of inputs under the rules of an older version
// stay the same, and that the settings of this version are in force from the rules
// input that a worker appends.
func TestOlderFold(t *testing.T) {
	h := open(t, broker.Options{Partitions: 1})
	stop := h.work(Options{}) // under the rules before the first rules input
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.publish("a", "interrupt", `{"calls":["9.9"]}`)
	h.publish("a", "interrupt", `{"calls":[]}`)
	h.wait("a", ofType(events.RunFinished))
	stop()

	rules := lifecycle.NewRules()
	h.work(Options{Rules: &rules})
	h.firstRules(0)
	h.publish("a", "delta", fmt.Sprintf(callDelta, 2, 2))
	h.publish("a", "interrupt", `{"calls":[]}`)
	if e := h.wait("a", ofType(events.Rejected)); !bytes.Contains(e.Data, []byte("calls is an empty list")) {
		t.Errorf("rejected: %s", e.Data)
	}
	seq := h.publish("a", "interrupt", `{"calls":["9.9"]}`)
	if e := h.wait("a", ofType(events.Unmatched)); e.ID.Seq != seq || !bytes.Contains(e.Data, []byte(`"target":{"calls":["9.9"]},"input":`)) {
		t.Errorf("unmatched, for input %d: %s", seq, e.Data)
	}
	if r := h.quiet(); len(r.Differences) > 0 || r.Sessions != 1 {
		t.Errorf("%+v", r)
	}
}

// firstRules waits until a partition has a rules input.
func (h *fixture) firstRules(partition int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), brokertest.Within)
	defer cancel()
	err := h.broker.Inputs(ctx, partition, 1, func(batch []inputs.Input, _ uint64, _ bool) error {
		for i := range batch {
			if batch[i].Kind == inputs.Rules {
				return errRead
			}
		}
		return nil
	})
	if !errors.Is(err, errRead) {
		h.t.Fatalf("no rules input in partition %d: %v", partition, err)
	}
}
