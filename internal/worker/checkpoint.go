package worker

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

// checkpointer writes the checkpoint of a partition: the first input that no
// stored snapshot covers, with the rules in force there. It is written after the
// snapshots that it relies on, and is only a lower bound.
type checkpointer struct {
	log       checkpointLog
	partition int
	stored    broker.Checkpoint
	rev       uint64
	writing   bool
}

// checkpointLog is what a checkpointer reads and writes.
type checkpointLog interface {
	Checkpoints
	Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error)
	Epoch() uint64
}

// errNewEpoch is returned for a checkpoint that is not written because the
// connection was lost meanwhile.
var errNewEpoch = errors.New("worker: the connection was lost before the checkpoint was written")

// begin returns the operation that writes a checkpoint.
func (c *checkpointer) begin(m broker.Checkpoint) operation {
	c.writing = true
	w := checkpointWrite{log: c.log, partition: c.partition, rev: c.rev, epoch: c.log.Epoch(), checkpoint: m}
	return func(ctx context.Context) completion { return w.run(ctx) }
}

// checkpointWrite is the operation that writes a checkpoint, and its outcome.
type checkpointWrite struct {
	log        checkpointLog
	partition  int
	epoch      uint64
	checkpoint broker.Checkpoint
	rev        uint64 // revision of the stored checkpoint, before the operation and after it
	replaced   bool   // another worker wrote a checkpoint, which was read into checkpoint
	damaged    bool   // the stored checkpoint cannot be read
	err        error
}

func (w checkpointWrite) run(ctx context.Context) *checkpointWrite {
	rev, err := w.write(ctx)
	if !errors.Is(err, broker.ErrConflict) && !errors.Is(err, broker.ErrBackwards) {
		w.rev, w.err = rev, err
		return &w
	}
	w.checkpoint, w.rev, w.err = w.log.LoadCheckpoint(ctx, w.partition)
	w.replaced = w.err == nil
	if errors.Is(w.err, broker.ErrDamaged) {
		w.damaged, w.err = true, nil
	}
	return &w
}

// write writes the checkpoint. If other partitions have the inputs directly before
// it, the checkpoint also identifies the last of these. That input must be read in
// the same connection epoch: later it could be another one, stored under the same
// sequence after a rewind.
func (w *checkpointWrite) write(ctx context.Context) (rev uint64, err error) {
	if below := w.checkpoint.Seq - 1; below > w.checkpoint.Read.Seq {
		in, ok, err := w.log.Input(ctx, below)
		if err != nil {
			return 0, err
		}
		if w.log.Epoch() != w.epoch {
			return 0, errNewEpoch
		}
		if ok {
			w.checkpoint.Read = broker.Witness{Seq: below, At: in.At}
		}
	}
	return w.log.WriteCheckpoint(ctx, w.partition, w.checkpoint, w.rev)
}

func (w *checkpointWrite) apply(ctx context.Context, q *partition) error {
	c := &q.checkpoint
	c.writing = false
	switch {
	case errors.Is(w.err, context.Canceled), errors.Is(w.err, errNewEpoch):
	case w.err != nil:
		return fmt.Errorf("worker: moving the checkpoint of partition %d: %w", q.p, w.err)
	case w.damaged:
		c.rev = w.rev // the next checkpoint replaces it
	case w.replaced && !w.checkpoint.Rewinds.Equal(q.history.rewinds):
		return errRewinds
	case w.replaced:
		// Another worker moved it. The checkpoint of this worker is also a lower
		// bound, so this worker continues with the other's revision.
		c.stored.Seq, c.rev = w.checkpoint.Seq, w.rev
	default:
		c.stored, c.rev = w.checkpoint, w.rev
		q.rules.Forget(w.checkpoint.Seq)
	}
	return q.rewindIfFound(ctx)
}

// advance moves the checkpoint to the first input that no stored snapshot covers
// or whose events are not all stored.
func (q *partition) advance(ctx context.Context) {
	if q.checkpoint.writing || q.history.found != nil || q.history.epoch != q.log.Epoch() {
		return // in another epoch the log may have been rewound
	}
	seq := q.uncovered()
	if seq <= q.checkpoint.stored.Seq {
		return
	}
	m := broker.Checkpoint{Seq: seq, Rules: q.rules.Before(seq).Raw, Read: q.reading.last, Rewinds: q.history.rewinds, Snapshots: q.snapshots.newest}
	q.chores.start(ctx, q.checkpoint.begin(m))
}

// uncovered returns the first input that has to be folded again if the worker
// dies now.
func (q *partition) uncovered() uint64 {
	seq := q.held.uncovered(q.sessions.uncovered(q.reading.pos, q.history.rewinds))
	if first, ok := q.loads.first(); ok {
		seq = min(seq, first)
	}
	return seq
}
