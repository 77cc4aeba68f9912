package telemetry

import (
	"fmt"
	"testing"

	"streamer/internal/events"
	"streamer/internal/worker"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestPartitionLeft checks that calls of a partition that another process carries now
// are forgotten, and make place for others.
func TestPartitionLeft(t *testing.T) {
	url, _ := receive(t)
	spans, err := NewSpans(t.Context(), url, false, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	calls := NewCalls(0)
	observer := Observers{calls, spans}
	begin := func(partition, n int) {
		for i := range n {
			for _, kind := range []events.Type{events.ToolCallStart, events.ToolCallAwaiting} {
				e := stored(kind, "", `{"timestamp":"2026-11-21T03:40:00Z"}`, parentOfCall)
				e.Partition, e.Call = partition, fmt.Sprintf("%d.0", i)
				observer.EventStored(e)
			}
		}
	}
	begin(1, maxOpen)
	begin(2, 1) // one too many
	if got := [...]int{spans.open.n, calls.waiting.n, len(spans.open.ofPartition[2]), len(calls.waiting.ofPartition[2])}; got != [...]int{maxOpen, maxOpen, 0, 0} {
		t.Errorf("got %d calls, want the maximum, all of partition 1", got)
	}
	observer.PartitionLeft(1)
	begin(2, 2)
	if got := [...]int{spans.open.n, calls.waiting.n}; got != [...]int{2, 2} {
		t.Errorf("got %d calls, want those of partition 2", got)
	}
	result := func(partition int) worker.Stored {
		e := stored(events.ToolCallResult, events.Completed, `{"tool_name":"a","timestamp":"2026-11-21T03:41:00Z"}`, "")
		e.Partition, e.Call = partition, "0.0"
		return e
	}
	calls.EventStored(result(1))
	if n := testutil.CollectAndCount(calls, "streamer_call_wait_seconds"); n != 0 {
		t.Error("a call of a partition that was left has a wait time")
	}
	calls.EventStored(result(2))
	if n := testutil.CollectAndCount(calls, "streamer_call_wait_seconds"); n != 1 || calls.waiting.n != 1 {
		t.Errorf("got %d wait times and %d open calls, want 1 and 1", n, calls.waiting.n)
	}
}

// TestSessionErased checks that the calls of an erased session are forgotten, and no others.
func TestSessionErased(t *testing.T) {
	url, _ := receive(t)
	spans, err := NewSpans(t.Context(), url, false, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	calls := NewCalls(0)
	observe := func(session string, kinds ...events.Type) {
		for _, kind := range kinds {
			e := stored(kind, "", `{"timestamp":"2026-11-21T03:40:00Z"}`, parentOfCall)
			e.Session, e.Call = session, "1.0"
			Observers{calls, spans}.EventStored(e)
		}
	}
	observe("gone", events.ToolCallStart, events.ToolCallAwaiting)
	observe("stays", events.ToolCallStart, events.ToolCallAwaiting)
	observe("gone", events.SessionErased)
	if got := [...]int{spans.open.n, calls.waiting.n}; got != [...]int{1, 1} {
		t.Errorf("got %d open calls, want that of the other session", got)
	}
}
