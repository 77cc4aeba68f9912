package worker

import (
	"time"

	"streamer/internal/events"
)

// Observer receives what a worker stores, for metrics and traces. Its methods are
// called by the partitions at the same time, and must not block.
type Observer interface {
	// EventStored is called once for each event that this worker stored. The body and
	// the trace context must not be changed.
	EventStored(e Stored)
	// SnapshotStored is called with the time from the publish of a snapshot to its
	// acknowledgement.
	SnapshotStored(took time.Duration)
	// PartitionLeft is called when this worker does not carry a partition any more,
	// after all events of the partition that it stored.
	PartitionLeft(partition int)
}

// Stored is an event that a worker stored.
type Stored struct {
	Partition int
	Session   string // token
	Type      events.Type
	Call      string // "" if the event is not of a call
	Status    events.Status
	Body      []byte            // as events.Event.Body returns it
	Trace     map[string]string // trace context of the input that caused the event
	Took      time.Duration     // from the publish to the acknowledgement
}

// unobserved is the Observer of a worker that has none.
type unobserved struct{}

func (unobserved) EventStored(Stored)           {}
func (unobserved) SnapshotStored(time.Duration) {}
func (unobserved) PartitionLeft(int)            {}
