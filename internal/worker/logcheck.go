package worker

import (
	"context"

	"streamer/internal/rewind"
)

// logChecks is what is known of the input log being the one that was read. The server may
// have lost its end in each new connection epoch. The reader notices that before it
// delivers another input; sessions are loaded only when the log is found to be the same,
// because a load reads inputs by itself.
type logChecks struct {
	epoch    uint64 // in which the log was found to be the same
	checking bool
}

// checkLog begins to check the input log in a new connection epoch.
func (q *partition) checkLog() {
	epoch := q.log.Epoch()
	if q.checked.epoch == epoch || q.checked.checking {
		return
	}
	q.checked.checking = true
	log, read := q.log, q.reading.last
	q.chores.start(func(ctx context.Context) any {
		return &logChecked{epoch, rewind.Verify(ctx, log, rewind.Evidence{N: read.Seq, At: read.At})}
	})
}

// logChecked is the result of a check of the input log.
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
