package worker

import (
	"fmt"
	"slices"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/events"
)

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
