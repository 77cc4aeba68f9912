package worker

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
)

// observed records what an Observer receives, a line each.
type observed struct {
	mu    sync.Mutex
	lines []string
}

func (o *observed) add(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines = append(o.lines, fmt.Sprintf(format, args...))
}

// EventStored implements Observer.
func (o *observed) EventStored(e Stored) {
	if e.Type == events.ToolCallStart {
		o.add("%d start", e.Partition)
	}
}

// SnapshotStored implements Observer.
func (o *observed) SnapshotStored(time.Duration) {}

// PartitionLeft implements Observer.
func (o *observed) PartitionLeft(partition int) { o.add("%d left", partition) }

// TestPartitionsLeft checks that an observer knows the partition of an event, and when
// the worker leaves the partition.
func TestPartitionsLeft(t *testing.T) {
	h := open(t, broker.Options{Partitions: 2})
	var o observed
	stop := h.work(Options{Observer: &o})
	h.publish("a", "delta", fmt.Sprintf(callDelta, 1, 1))
	h.wait("a", ofType(events.ToolCallArgsComplete))
	stop()
	p := h.broker.Partition("a")
	if len(o.lines) != 3 || o.lines[0] != fmt.Sprint(p, " start") {
		t.Fatalf("got %q, want the start of the call and two partitions left", o.lines)
	}
	if slices.Sort(o.lines[1:]); !slices.Equal(o.lines[1:], []string{"0 left", "1 left"}) {
		t.Errorf("got %q, want both partitions left", o.lines[1:])
	}
}
