package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

// checkpointer writes the checkpoint of a partition: the first input that no snapshot
// covers, with the rules in force there. It is not behind an input that may not be on the
// disk of the server yet, and is only a lower bound.
type checkpointer struct {
	log       checkpointLog
	partition int
	keep      time.Duration // DurableAfter
	stored    broker.Checkpoint
	rev       uint64
	past      pastPosition
	writing   bool
}

// pastPosition is how far a partition had read at a time.
type pastPosition struct {
	pos   uint64 // 0 if there is none
	last  broker.Witness
	at    time.Time
	epoch uint64 // of the connection
}

// checkpointLog is what a checkpointer reads and writes.
type checkpointLog interface {
	Checkpoints
	Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error)
	Epoch() uint64
}

// advance begins to write the next checkpoint, if what was read by the last position must be on
// the disk.
func (q *partition) advance(now time.Time) {
	c := &q.checkpoint
	epoch := q.log.Epoch()
	if c.writing || q.checked.epoch != epoch {
		return
	}
	if m := c.past; m.pos > 0 && m.epoch == epoch {
		if now.Sub(m.at) < c.keep {
			return
		}
		if seq := min(q.uncovered(), m.pos); seq > c.stored.Seq {
			newest := max(c.stored.Snapshots, q.snapshots.newest)
			q.chores.start(c.begin(broker.Checkpoint{Seq: seq, Rules: q.rules.Before(seq).Raw, Read: m.last, Snapshots: newest}))
		}
	}
	c.past = pastPosition{q.reading.pos, q.reading.last, now, epoch}
}

// uncovered returns the first input that has to be folded again if the worker
// dies now. Events that the server refuses for good do not hold the checkpoint back: they
// follow again when their session is loaded.
func (q *partition) uncovered() uint64 {
	seq := q.held.uncovered(q.reading.pos)
	for s := range q.snapshots.changed.all {
		if s.snapshot.first != 0 && !s.log.stuck {
			seq = min(seq, s.snapshot.first)
		}
	}
	for _, l := range q.loads.of {
		if l.first != 0 {
			seq = min(seq, l.first)
		}
	}
	if in := q.loads.oldest(); in != nil {
		seq = min(seq, in.Seq)
	}
	return seq
}

func (c *checkpointer) begin(next broker.Checkpoint) operation {
	w := checkpointWrite{log: c.log, partition: c.partition, rev: c.rev, epoch: c.past.epoch, checkpoint: next}
	c.writing = true
	return func(ctx context.Context) any { return w.run(ctx) }
}

// errNewEpoch is returned for a checkpoint that is not written because the
// connection was lost meanwhile.
var errNewEpoch = errors.New("worker: the connection was lost before the checkpoint was written")

// checkpointWrite is the operation that writes a checkpoint, and its result.
type checkpointWrite struct {
	log        checkpointLog
	partition  int
	epoch      uint64
	checkpoint broker.Checkpoint
	rev        uint64 // revision of the stored checkpoint, before the operation and after it
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
	if errors.Is(w.err, broker.ErrDamaged) {
		w.damaged, w.err = true, nil
	}
	return &w
}

// write writes the checkpoint. If other partitions have the inputs directly before
// it, the checkpoint also identifies the last of these. That input must be read in
// the same connection epoch: later it could be another one, stored under the same
// sequence after the log lost its end.
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

func (q *partition) checkpointDone(w *checkpointWrite) error {
	c := &q.checkpoint
	c.writing = false
	switch {
	case errors.Is(w.err, context.Canceled), errors.Is(w.err, errNewEpoch):
	case w.err != nil:
		return fmt.Errorf("worker: moving the checkpoint of partition %d: %w", q.p, w.err)
	case w.damaged:
		c.rev = w.rev // the next checkpoint replaces it
	default: // perhaps that of another worker, which is a lower bound as well
		c.stored, c.rev = w.checkpoint, w.rev
		q.rules.Forget(min(w.checkpoint.Seq, q.reading.pos))
	}
	return nil
}
