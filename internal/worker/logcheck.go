package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
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
		return &logCheckResult{epoch, cmp.Or(err, verifyEvent(ctx, log, &event))}
	})
}

// errShort is returned where the event log lost events. The inputs behind the checkpoint are
// folded again, and what is missing is appended again.
var errShort = errors.New("worker: the event log lost events")

// verifyEvent returns errShort if the event log does not have an event any more, unless that
// has expired.
func verifyEvent(ctx context.Context, log Log, e *events.Record) error {
	there := false
	err := broker.Confirm(ctx, log.Replicated(), func() (bool, error) {
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

// logCheckResult is the result of a check of the logs.
type logCheckResult struct {
	epoch uint64
	err   error
}

// logCheckDone takes the result of a check. A log that came back shorter is decided about
// when the partition is taken over again.
func (q *partition) logCheckDone(c *logCheckResult) error {
	q.checked.checking = false
	if c.err != nil {
		return c.err
	}
	q.checked.epoch = c.epoch
	q.unblockLoads()
	q.checkLog() // the connection may have been lost meanwhile
	return nil
}

// ErrRewound is returned where the input log came back shorter than what was folded of it,
// and inputs may have been stored at sequences that were assigned before.
var ErrRewound = errors.New("worker: input log was truncated below inputs already folded")

// losses are the losses of the input log that a partition found. They outlive its restarts.
type losses struct {
	count  atomic.Uint64
	newest atomic.Pointer[rewind.Evidence] // the input whose loss stopped it
}

// checkInputs compares the input log with what was made of it. Where it came back
// shorter, it is padded, so that no sequence is assigned twice, or the partition stops.
func (t *takeover) checkInputs(ctx context.Context) error {
	known, found := t.evidence(), &t.reports.status.losses
	lost := found.newest.Load()
	if lost != nil { // the partition stopped before
		known = append(known, *lost)
	} else if err := t.readRecent(ctx); err != nil {
		return err
	} else if top := &t.recent.Top; top.Seq > 0 {
		known = append(known, rewind.EventEvidence(top))
	}
	verdict, err := rewind.Check(ctx, t.Log, t.partition, known)
	switch {
	case err != nil:
		return err
	case verdict.Same() && lost != nil: // an operator repaired it
		found.newest.Store(nil)
		return t.checkInputs(ctx)
	case verdict.Same():
		return nil
	case lost == nil: // it is found now
		found.count.Add(1)
	}
	if t.Options.PadInputs {
		t.reports.logger.Warn().Stringer("found", &verdict).Msg("input log was truncated below inputs already folded; padding it, so that no sequence is assigned twice")
		_, err := rewind.Repair(ctx, t.Log, t.partition, known, false)
		return err
	}
	found.newest.Store(&verdict.Lost)
	return fmt.Errorf("%w: partition %d: %s; `streamer recover` shows what can be done", ErrRewound, t.partition, &verdict)
}

// evidence returns the inputs that the checkpoint and the snapshots show to have been
// folded.
func (t *takeover) evidence() []rewind.Evidence {
	c := &t.checkpoint
	known := []rewind.Evidence{{N: c.Seq - 1}}
	if c.Read.Seq > 0 {
		known = append(known, rewind.Evidence{N: c.Read.Seq, At: c.Read.At})
	}
	for i := range t.snapshots.stored {
		if s := &t.snapshots.stored[i]; s.Input > 0 {
			known = append(known, rewind.Evidence{N: s.Input, Token: s.token, At: s.At})
		}
	}
	return known
}

// recentMargin is how much earlier than the checkpoint events are looked for: the clocks
// of servers differ, and partitions that are taken over together share a reading.
const recentMargin = 5 * time.Second

// recentEvents are the events of all partitions since a time.
type recentEvents struct {
	since time.Time
	of    map[int]eventlog.Recent
}

// readRecent reads the events stored since the checkpoint. What was stored before is covered
// by that. It does not matter how long the partition was not carried, and what others stored
// then.
func (t *takeover) readRecent(ctx context.Context) error {
	epoch, at := t.Log.Epoch(), t.checkpoint.Read.At
	if at.IsZero() {
		in, ok, err := t.Log.Input(ctx, t.checkpoint.Seq)
		if err != nil {
			return err
		}
		if at = in.At; !ok {
			at = time.Now().Add(-time.Hour)
		}
	}
	since := at.Add(-recentMargin).Truncate(2 * recentMargin)
	usable := func(r *reading[recentEvents]) bool {
		return r.epoch == epoch && !r.began.Before(t.began) && !r.value.since.After(since)
	}
	recent, err := t.Worker.recent.get(ctx, epoch, usable, func(ctx context.Context) (recentEvents, error) {
		of, err := t.Log.RecentEvents(ctx, since)
		return recentEvents{since, of}, err
	})
	t.recent = recent.of[t.partition]
	return err
}
