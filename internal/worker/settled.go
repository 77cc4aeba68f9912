package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settlePoll is how often WaitSettled looks.
const settlePoll = 10 * time.Millisecond

// WaitSettled waits until n partitions, or all that this worker carries if these
// are more, are taken over and have the settings of this instance in force, or
// have stopped.
func (w *Worker) WaitSettled(ctx context.Context, n int) error {
	poll := time.NewTicker(settlePoll)
	defer poll.Stop()
	for {
		carried, unsettled := w.unsettled()
		if carried >= n && unsettled == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-poll.C:
		}
	}
}

// unsettled counts the partitions that are carried, and of these the ones that
// are being taken over.
func (w *Worker) unsettled() (carried, unsettled int) {
	for _, st := range w.statuses.all() {
		if !st.carried.Load() {
			continue
		}
		carried++
		if !st.settled.Load() && st.stopped.Load() == nil {
			unsettled++
		}
	}
	return carried, unsettled
}

// settling returns why the worker is not ready yet: it has no share of the
// partitions yet, or is taking some over.
func (w *Worker) settling() error {
	if !w.begun.Load() {
		return errors.New("the partitions are not divided among the workers yet")
	}
	if _, n := w.unsettled(); n > 0 {
		return fmt.Errorf("%d partitions are being taken over", n)
	}
	return nil
}
