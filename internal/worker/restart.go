package worker

import (
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
)

// Pauses before a partition that failed is started again: restartFirst, then
// twice as long each time up to restartMost, until it got on.
const (
	restartFirst = time.Second
	restartMost  = 30 * time.Second
	restartCalm  = time.Minute // a run this long got on, and so does one that moved the mark
	restartTold  = 3           // failures in a row that are a problem
	tellAgain    = 30 * time.Second
)

// failing is a partition that failed, and has not got on since.
type failing struct {
	row   int // failures
	err   error
	mark  uint64    // where its mark was then
	began time.Time // the last run; zero while it is not run
}

// gotOn reports whether the run since then is better than those before.
func (f *failing) gotOn(mark uint64, now time.Time) bool {
	return mark > f.mark || !f.began.IsZero() && now.Sub(f.began) >= restartCalm
}

// begins notes that a partition is run.
func (w *Worker) begins(p int, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.failing[p]; f != nil {
		f.began = now
	}
}

// failed notes that a run of a partition ended with an error. It returns the
// number of failures in a row.
func (w *Worker) failed(p int, err error, now time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	mark := w.meters[p].mark.Load()
	f := w.failing[p]
	if f == nil || f.gotOn(mark, now) {
		f = &failing{}
		if w.failing == nil {
			w.failing = map[int]*failing{}
		}
		w.failing[p] = f
	}
	f.row++
	f.err, f.mark, f.began = err, mark, time.Time{}
	return f.row
}

// recovered forgets the failures of a partition that this worker no longer
// runs.
func (w *Worker) recovered(p int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.failing, p)
}

// pauseAfter returns the pause after so many failures in a row.
func pauseAfter(row int) time.Duration {
	return min(restartFirst<<min(row-1, 10), restartMost)
}

// problems returns the partitions that fail again and again, each with its
// reason. w.mu is held.
func (w *Worker) problems(now time.Time) error {
	var all []error
	for p, f := range w.failing {
		if f.row >= restartTold && !f.gotOn(w.meters[p].mark.Load(), now) {
			all = append(all, fmt.Errorf("partition %d failed %d times in a row: %w", p, f.row, f.err))
		}
	}
	if n := len(all) - maxProblems; n > 0 {
		all = append(all[:maxProblems], fmt.Errorf("and %d more partitions", n))
	}
	return errors.Join(all...)
}

// maxProblems bounds what is listed of partitions: they fail together.
const maxProblems = 3

// stops reports whether a partition with this error stops: only an operator can
// do something about it.
func stops(err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(err, ErrVersion) || errors.Is(err, broker.ErrReplaced)
}
