package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"streamer/internal/events"
	"streamer/internal/rewind"
)

// logChecks is what is known of the logs being those that were read and written. The server
// may have lost their ends in each new connection epoch. The reader notices that before it
// delivers another input; sessions are loaded only when the logs are found to be the same,
// because a load reads inputs by itself.
type logChecks struct {
	epoch    uint64 // in which the logs were found to be the same
	checking bool
}

// checkLog begins to check the logs in a new connection epoch.
func (q *partition) checkLog() {
	epoch := q.log.Epoch()
	if q.checked.epoch == epoch || q.checked.checking {
		return
	}
	q.checked.checking = true
	log, read, event := q.log, q.reading.last, q.appender.newest
	q.chores.start(func(ctx context.Context) any {
		err := rewind.Verify(ctx, log, rewind.Evidence{N: read.Seq, At: read.At})
		return &logChecked{epoch, cmp.Or(err, verifyEvent(ctx, log, &event))}
	})
}

// errShort is returned where the event log lost events. The inputs behind the checkpoint are
// folded again, and what is missing is appended again.
var errShort = errors.New("worker: the event log lost events")

// verifyEvent returns errShort if the event log does not have an event any more, unless that
// has expired.
func verifyEvent(ctx context.Context, log Log, e *events.Record) error {
	there := false
	err := rewind.Confirm(ctx, log.Replicated(), func() (bool, error) {
		first, _, err := log.EventBounds(ctx)
		if there = e.Seq < first; err != nil || there {
			return there, err
		}
		stored, err := log.Event(ctx, e.Token, e.Seq)
		if errors.Is(err, events.ErrNotFound) {
			err = nil
		}
		there = stored.ID == e.ID
		return there, err
	})
	if err == nil && !there {
		err = fmt.Errorf("%w: event %s of session %s is missing", errShort, e.ID, e.Token)
	}
	return err
}

// logChecked is the result of a check of the logs.
type logChecked struct {
	epoch uint64
	err   error
}

// logChecked takes the result of a check. A log that came back shorter is decided about
// when the partition is taken over again.
func (q *partition) logChecked(c *logChecked) error {
	q.checked.checking = false
	if c.err != nil {
		return c.err
	}
	q.checked.epoch = c.epoch
	q.unblockLoads()
	q.checkLog() // the connection may have been lost meanwhile
	return nil
}
