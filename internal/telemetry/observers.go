package telemetry

import (
	"time"

	"streamer/internal/worker"
)

// Observers is a worker.Observer that calls several others in turn.
type Observers []worker.Observer

// EventStored implements worker.Observer.
func (l Observers) EventStored(e worker.Stored) {
	for _, o := range l {
		o.EventStored(e)
	}
}

// SnapshotStored implements worker.Observer.
func (l Observers) SnapshotStored(took time.Duration) {
	for _, o := range l {
		o.SnapshotStored(took)
	}
}

// PartitionLeft implements worker.Observer.
func (l Observers) PartitionLeft(partition int) {
	for _, o := range l {
		o.PartitionLeft(partition)
	}
}
