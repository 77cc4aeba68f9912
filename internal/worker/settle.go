package worker

import (
	"context"
	"time"
)

// settleTime bounds how long a partition that is stopped waits for what is under
// way.
const settleTime = 5 * time.Second

// loadTime is the part of settleTime after which sessions that are still being
// loaded are left to the next owner.
const loadTime = 2 * time.Second

// settle waits, at the end, for what is under way, writes snapshots of what
// changed and moves the checkpoint: the next owner then has nothing to fold again.
func (q *partition) settle(ctx context.Context) {
	end := time.NewTimer(settleTime)
	defer end.Stop()
	loads := time.NewTimer(loadTime)
	defer loads.Stop()
	step := func(end <-chan time.Time) bool {
		select {
		case a := <-q.appender.acks:
			return q.acked(ctx, a) == nil
		case f := <-q.done:
			return q.complete(ctx, f) == nil
		case <-end:
			return false
		}
	}
	until := func(over func() bool) bool {
		for !over() {
			if !step(end.C) {
				return false
			}
		}
		return true
	}
	// Events that are neither under way nor about to be are in the snapshots.
	stored := func() bool {
		return q.appender.queued == 0 || q.appender.flights == 0 && q.heads.running == 0
	}
	if !until(stored) {
		return
	}
	q.checkFresh(ctx, time.Now())
	for len(q.loads.of) > 0 && step(loads.C) {
	}
	if !until(stored) || !q.writeRest(until) {
		return
	}
	q.findPosition(ctx, until)
	for range 2 { // the first may meet one that was under way
		q.advance(ctx)
		if !until(func() bool { return !q.checkpoint.writing }) {
			return
		}
	}
}

// writeRest writes snapshots of all that changed. until waits for a condition, if
// there is time.
func (q *partition) writeRest(until func(func() bool) bool) bool {
	for range 2 { // some changed while they were being written
		left := true
		for left {
			left = q.sessions.writeAll(time.Now())
			if !until(func() bool { return q.snapshots.writing == 0 || left && q.snapshots.bytes < maxWriting/2 }) {
				return false
			}
		}
	}
	return until(func() bool { return !q.checkpoint.writing })
}

// findPosition moves the position behind the inputs of other partitions. The
// checkpoint must not expire before the next owner comes only because the last
// inputs were theirs.
func (q *partition) findPosition(ctx context.Context, until func(func() bool) bool) {
	found := &positionFound{}
	log, p, pos := q.log, q.p, q.reading.pos
	q.chores.start(ctx, func(ctx context.Context) completion {
		found.pos, found.err = log.InputPosition(ctx, p, pos)
		return found
	})
	until(func() bool { return found.applied })
}

// positionFound is the outcome of findPosition.
type positionFound struct {
	pos     uint64
	err     error
	applied bool
}

func (f *positionFound) apply(_ context.Context, q *partition) error {
	f.applied = true
	if f.err == nil {
		q.reading.pos = max(q.reading.pos, f.pos)
	}
	return nil
}
