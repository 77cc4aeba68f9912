package worker

import (
	"fmt"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// TestPowerLoss checks that the next worker appends the last events again from the
// snapshot where the server lost them after it had acknowledged them, though the
// checkpoint covers their inputs.
func TestPowerLoss(t *testing.T) {
	h := open(t, broker.Options{Embed: listening(t)})
	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond, DurableAfter: time.Millisecond})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	h.publish("a", "result", fmt.Sprintf(result, 1))
	last := h.wait("a", ofType(events.ToolCallResult))
	stop()

	stream := h.stream("TOOLCALLS")
	for _, seq := range []uint64{last.Seq, last.Prev} {
		if err := stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	h.work(Options{})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 2, 2)) // loads the session
	again := h.wait("a", ofType(events.ToolCallResult))
	if string(again.Data) != string(last.Data) || again.Seq <= last.Seq {
		t.Errorf("got %d %s\nwant %s", again.Seq, again.Data, last.Data)
	}
	if r := h.quiet(); len(r.Differences) > 0 {
		t.Error(r.Differences)
	}
}
