package worker

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"streamer/internal/broker"
)

// errRewinds is returned where the partition has to start again, because the
// input log was rewound or may have been.
var errRewinds = errors.New("worker: the input log may have been rewound")

// mayFold reports whether inputs may be folded now. In each new connection epoch
// the input log is first compared with what was folded of it, because the server
// may have lost its end. While that or the recording of a rewind is under way,
// nothing is folded.
func (q *partition) mayFold(ctx context.Context) (bool, error) {
	h := &q.history
	if h.found != nil || h.checking {
		return false, nil
	}
	if h.epoch == q.log.Epoch() {
		return true, nil
	}
	if q.sessions.aheadOfInputs() {
		return false, errRewinds
	}
	h.checking, h.genuine = true, 0
	check := logCheck{inputCheck: q.inputCheck(), survey: q.survey(), checkpoints: q.log, epoch: q.log.Epoch(), evidence: q.sessions.evidence(), read: q.reading.lastRead()}
	q.chores.start(ctx, func(ctx context.Context) completion { return check.run(ctx) })
	return false, nil
}

// logCheck is the operation that compares the input log with what was folded of
// it, and its outcome.
type logCheck struct {
	inputCheck
	survey
	checkpoints Checkpoints
	epoch       uint64 // of the connection when it began
	evidence    []evidence
	read        broker.Witness
	err         error // errRewinds where the log is not the same
}

func (c logCheck) run(ctx context.Context) *logCheck {
	c.err = c.compare(ctx)
	return &c
}

func (c *logCheck) compare(ctx context.Context) error {
	m, _, err := c.checkpoints.LoadCheckpoint(ctx, c.partition)
	if err != nil {
		return err
	}
	if !m.Rewinds.Equal(c.inputCheck.rewinds) {
		return errRewinds
	}
	known, err := c.folded(ctx, nil)
	if err != nil {
		return err
	}
	known = append(known, c.evidence...)
	slices.SortStableFunc(known, byNumber)
	if same, err := c.same(ctx, known); err != nil || !same {
		return cmp.Or(err, errRewinds)
	}
	return c.compareRead(ctx)
}

// compareRead checks that the input log has what was read of it before. That may
// have been after the log was rewound, and shows nothing of what was folded.
func (c *logCheck) compareRead(ctx context.Context) error {
	if c.read.Seq == 0 {
		return nil
	}
	same := false
	err := confirm(ctx, c.log.Replicated(), func() (_ bool, err error) {
		same, err = c.has(ctx, &evidence{n: c.inputCheck.rewinds.Effective(c.read.Seq), at: c.read.At})
		return same, err
	})
	if err != nil || !same {
		return cmp.Or(err, errRewinds)
	}
	return nil
}

func (c *logCheck) apply(ctx context.Context, q *partition) error {
	h := &q.history
	h.checking = false
	switch {
	case c.err != nil:
		return c.err
	case q.sessions.aheadOfInputs():
		return errRewinds
	case c.epoch == q.log.Epoch(): // else it is checked again
		h.epoch, h.genuine = c.epoch, c.genuine
	}
	return q.proceed(ctx)
}

// proceed continues with what waited until inputs may be folded.
func (q *partition) proceed(ctx context.Context) error {
	if ok, err := q.mayFold(ctx); !ok {
		return err
	}
	ready := q.loads.ready
	q.loads.ready = nil
	for _, l := range ready {
		if err := l.apply(ctx, q); err != nil {
			return err
		}
	}
	return q.takeHeld(ctx)
}
