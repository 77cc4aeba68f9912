package worker

import (
	"context"
	"time"
)

// Times of a partition that is stopped.
const (
	shutdownTime = 5 * time.Second // for all that is under way
	loadTime     = 2 * time.Second // after it, sessions that are being loaded are left to the next owner
)

// shutDown waits for what is under way, and saves everything at once: the next
// owner then has nothing to fold again, and no input that was folded can expire before
// it comes.
func (d *driver) shutDown(working context.Context) {
	end, cancel := context.WithTimeout(working, shutdownTime)
	defer cancel()
	loads, cancelLoads := context.WithTimeout(end, loadTime)
	defer cancelLoads()
	stored := func() bool { return d.appender.queued == 0 || d.appender.flights == 0 }
	if _, err := d.until(loads.Done(), func() bool { return stored() && len(d.loads.of) == 0 }); err != nil {
		return
	}
	d.snapshots.every, d.snapshots.keep, d.checkpoint.keep = 0, 0, 0
	if !d.await(end, stored) || !d.saveAll(end) || d.step(findPosition{}) != nil {
		return
	}
	idle := func() bool { return d.chores.running == 0 }
	for range 3 { // the checkpoint is found, then written; one may have been under way
		if !d.await(end, idle) || d.step(save(time.Now())) != nil {
			return
		}
	}
	d.await(end, idle)
}

func (d *driver) await(end context.Context, holds func() bool) bool {
	ok, err := d.until(end.Done(), holds)
	return ok && err == nil
}

// saveAll stores snapshots of all sessions that changed. Some are left in a few rounds:
// those whose next event was refused.
func (d *driver) saveAll(end context.Context) bool {
	for range shutdownRounds {
		if d.step(save(time.Now())) != nil {
			return false
		}
		if d.snapshots.bytes == 0 {
			break
		}
		if !d.await(end, func() bool { return d.snapshots.bytes < maxTaken/2 }) {
			return false
		}
	}
	return d.await(end, func() bool { return d.snapshots.bytes == 0 })
}

// shutdownRounds bounds the rounds of saveAll: each saves some megabytes.
const shutdownRounds = 100

// positionResult is the result of findPosition: the position behind the inputs of other
// partitions. The checkpoint must not expire before the next owner comes only because the
// last inputs were theirs.
type positionResult struct{ pos uint64 }

func (q *partition) findPosition() {
	log, p, pos := q.log, q.p, q.reading.pos
	q.chores.start(func(ctx context.Context) any {
		if next, err := log.InputPosition(ctx, p, pos); err == nil {
			pos = next
		}
		return &positionResult{pos}
	})
}
