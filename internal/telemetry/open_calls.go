package telemetry

import (
	"sync"
	"time"

	"streamer/internal/worker"
)

// maxOpen is the maximum number of open calls of which an observer keeps something.
// The span of a call beyond them belongs to the trace of its result, and its wait is
// not observed.
const maxOpen = 100_000

// openCalls keeps a value of calls that have no result yet. It forgets those of a
// partition that the process does not carry any more, because another process stores
// their results.
type openCalls[V any] struct {
	mu          sync.Mutex
	ofPartition map[int]map[callKey]V
	n           int
}

type callKey struct{ session, call string }

func keyOf(e *worker.Stored) callKey { return callKey{e.Session, e.Call} }

// update replaces the value of the call of an event by the one that change returns for
// it, unless keep is false. The value of an unknown call is zero.
func (o *openCalls[V]) update(e *worker.Stored, change func(v V, known bool) (next V, keep bool)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	calls := o.ofPartition[e.Partition]
	v, known := calls[keyOf(e)]
	next, keep := change(v, known)
	if !keep || !known && o.n >= maxOpen {
		return
	}
	if calls == nil {
		calls = map[callKey]V{}
		if o.ofPartition == nil {
			o.ofPartition = map[int]map[callKey]V{}
		}
		o.ofPartition[e.Partition] = calls
	}
	if !known {
		o.n++
	}
	calls[keyOf(e)] = next
}

// take returns and forgets the value of the call of an event, zero if there is none.
func (o *openCalls[V]) take(e *worker.Stored) V {
	o.mu.Lock()
	defer o.mu.Unlock()
	calls := o.ofPartition[e.Partition]
	v, known := calls[keyOf(e)]
	if known {
		delete(calls, keyOf(e))
		o.n--
	}
	return v
}

// forgetSession forgets the calls of the session of an event, which end without a result.
func (o *openCalls[V]) forgetSession(e *worker.Stored) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k := range o.ofPartition[e.Partition] {
		if k.session == e.Session {
			delete(o.ofPartition[e.Partition], k)
			o.n--
		}
	}
}

func (o *openCalls[V]) forget(partition int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n -= len(o.ofPartition[partition])
	delete(o.ofPartition, partition)
}

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
