package worker

import (
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/session"
)

// Pauses before a partition that failed is started again: restartFirst, then
// twice as long each time up to restartMost, until it makes progress.
const (
	restartFirst   = time.Second
	restartMost    = 30 * time.Second
	restartCalm    = time.Minute // a run this long is progress, and so is one that moves the checkpoint
	restartProblem = 3           // failures in a row from which they are a problem
	logInterval    = 30 * time.Second
)

// failureRun is the failures of a partition since it last made progress. It is
// never changed once it is in a status.
type failureRun struct {
	row        int
	err        error     // of the last
	checkpoint uint64    // at the last
	began      time.Time // the present run; zero while the partition does not run
}

func (f *failureRun) progressed(checkpoint uint64, now time.Time) bool {
	return checkpoint > f.checkpoint || !f.began.IsZero() && now.Sub(f.began) >= restartCalm
}

func (s *status) runs(now time.Time) {
	if f := s.failing.Load(); f != nil {
		next := *f
		next.began = now
		s.failing.Store(&next)
	}
}

// failed notes that a run of the partition ended with an error. It returns the
// number of failures in a row.
func (s *status) failed(err error, now time.Time) int {
	next := failureRun{row: 1, err: err, checkpoint: s.checkpoint.Load()}
	if f := s.failing.Load(); f != nil && !f.progressed(next.checkpoint, now) {
		next.row = f.row + 1
	}
	s.failing.Store(&next)
	return next.row
}

func pauseAfter(row int) time.Duration {
	return min(restartFirst<<min(row-1, 10), restartMost)
}

// failures returns the partitions that fail repeatedly, each with its reason, or
// nil.
func (w *Worker) failures(now time.Time) error {
	var all []error
	for p, st := range w.statuses.all() {
		if f := st.failing.Load(); f != nil && f.row >= restartProblem && !f.progressed(st.checkpoint.Load(), now) {
			all = append(all, fmt.Errorf("partition %d failed %d times in a row: %w", p, f.row, f.err))
		}
	}
	if n := len(all) - maxProblems; n > 0 {
		all = append(all[:maxProblems], fmt.Errorf("and %d more partitions", n))
	}
	return errors.Join(all...)
}

// maxProblems bounds the partitions that are listed: they often fail together.
const maxProblems = 3

// stops reports whether a partition with this error stops: only an operator can
// solve it.
func stops(err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(err, ErrRewound) || errors.Is(err, session.ErrVersion) || errors.Is(err, broker.ErrReplaced)
}
