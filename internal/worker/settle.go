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

// settling is the end of a partition that is stopped.
type settling struct {
	*partition
	end <-chan time.Time
}

// settle waits, at the end, for what is under way, writes snapshots of what
// changed and moves the checkpoint: the next owner then has nothing to fold again.
func (q *partition) settle(ctx context.Context) {
	end := time.NewTimer(settleTime)
	defer end.Stop()
	settling{q, end.C}.run(ctx)
}

func (q settling) run(ctx context.Context) {
	if !q.until(ctx, q.eventsStored) {
		return
	}
	q.checkFresh(ctx, time.Now())
	loads := time.NewTimer(loadTime)
	defer loads.Stop()
	for len(q.loads.of) > 0 && q.step(ctx, loads.C) {
	}
	if !q.until(ctx, q.eventsStored) || !q.writeRest(ctx) {
		return
	}
	q.findPosition(ctx)
	for range 2 { // the first may meet one that was under way
		q.advance(ctx)
		if !q.until(ctx, q.checkpointIdle) {
			return
		}
	}
}

// step takes one outcome. It reports false when the time is over or on an error.
func (q settling) step(ctx context.Context, end <-chan time.Time) bool {
	select {
	case a := <-q.appender.acks:
		return q.acked(ctx, a) == nil
	case f := <-q.done:
		return q.complete(ctx, f) == nil
	case <-end:
		return false
	}
}

// until takes outcomes until a condition holds. It reports whether it does.
func (q settling) until(ctx context.Context, holds func() bool) bool {
	for !holds() {
		if !q.step(ctx, q.end) {
			return false
		}
	}
	return true
}

// eventsStored reports whether no events are under way or about to be. The others
// that are not stored are in the snapshots.
func (q settling) eventsStored() bool {
	return q.appender.queued == 0 || q.appender.flights == 0 && q.heads.running == 0
}

func (q settling) checkpointIdle() bool { return !q.checkpoint.writing }

// writeRest writes snapshots of all that changed.
func (q settling) writeRest(ctx context.Context) bool {
	for range 2 { // some changed while they were being written
		for left := true; left; {
			left = q.sessions.writeAll(time.Now())
			room := func() bool { return q.snapshots.writing == 0 || left && q.snapshots.bytes < maxWriting/2 }
			if !q.until(ctx, room) {
				return false
			}
		}
	}
	return q.until(ctx, q.checkpointIdle)
}

// findPosition moves the position behind the inputs of other partitions. The
// checkpoint must not expire before the next owner comes only because the last
// inputs were theirs.
func (q settling) findPosition(ctx context.Context) {
	found := &positionFound{}
	log, p, pos := q.log, q.p, q.reading.pos
	q.chores.start(ctx, func(ctx context.Context) completion {
		found.pos, found.err = log.InputPosition(ctx, p, pos)
		return found
	})
	q.until(ctx, func() bool { return found.applied })
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
