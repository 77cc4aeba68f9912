package worker

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/lifecycle"

	"github.com/rs/zerolog"
)

// TestPowerLoss checks that the next worker appends the last events again from the
// snapshot where the server lost them after it had acknowledged them, though the
// checkpoint covers their inputs.
func TestPowerLoss(t *testing.T) {
	h := open(t, broker.Options{Embed: listening(t)})
	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond, KeepAcked: time.Minute})
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

// countedHeads is a log that counts the heads that are read.
type countedHeads struct {
	*testBroker
	n atomic.Int32
}

func (c *countedHeads) Head(ctx context.Context, token string) (uint64, events.Record, error) {
	c.n.Add(1)
	return c.testBroker.Head(ctx, token)
}

// TestLastEventRecorded checks that a snapshot records the type of its session's last
// event, so that a listing reads the head of the event log only where the event is lost.
func TestLastEventRecorded(t *testing.T) {
	h := open(t, broker.Options{Embed: listening(t), Partitions: 1})
	stop := h.work(Options{SnapshotEvery: 10 * time.Millisecond, KeepAcked: time.Minute})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	last := h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()

	rules := lifecycle.DefaultRules()
	for _, lost := range []int32{0, 1} {
		if lost > 0 {
			if err := h.stream("TOOLCALLS").DeleteMsg(t.Context(), last.Seq); err != nil {
				t.Fatal(err)
			}
		}
		log := &countedHeads{testBroker: h.broker}
		q := newPartition(&Worker{Log: log, Options: Options{Nonce: "heads", Rules: &rules}, Logger: zerolog.Nop()}, 0)
		l, err := q.lister.list(t.Context())
		if err != nil || len(l.stored) != 1 || l.stored[0].kind != last.Type || l.stored[0].lacking != (lost > 0) || log.n.Load() != lost {
			t.Errorf("%d events lost: got %+v and %d heads, %v, want %s and %d heads", lost, l.stored, log.n.Load(), err, last.Type, lost)
		}
	}
}
