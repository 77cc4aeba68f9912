package worker

import (
	"context"
	"runtime"
	"sync"
)

// laneRoom is how many batches may wait for a goroutine.
const laneRoom = 4

// lanes works on things by partition, on as many goroutines as there are
// processors. What belongs to one partition is worked on in order, by one of
// them.
type lanes[T any] struct {
	stop   context.CancelCauseFunc
	failed func() error // why it ended early
	queues []chan []T
	next   [][]T // what was added since the last flush
	wg     sync.WaitGroup
}

// newLanes starts the goroutines; wait ends them. The context that it returns
// ends with the first error of do.
func newLanes[T any](ctx context.Context, do func(ctx context.Context, v T) error) (context.Context, *lanes[T]) {
	n := runtime.GOMAXPROCS(0)
	l := &lanes[T]{queues: make([]chan []T, n), next: make([][]T, n)}
	ctx, l.stop = context.WithCancelCause(ctx)
	l.failed = func() error { return context.Cause(ctx) }
	for i := range l.queues {
		queue := make(chan []T, laneRoom)
		l.queues[i] = queue
		l.wg.Go(func() {
			for batch := range queue {
				for _, v := range batch {
					if ctx.Err() != nil {
						break
					}
					if err := do(ctx, v); err != nil {
						l.stop(err)
					}
				}
			}
		})
	}
	return ctx, l
}

// add adds something of a partition to what the next flush hands over.
func (l *lanes[T]) add(partition int, v T) {
	i := partition % len(l.queues)
	l.next[i] = append(l.next[i], v)
}

// flush hands over what was added. It waits where the goroutines are behind.
func (l *lanes[T]) flush() {
	for i, batch := range l.next {
		if len(batch) > 0 {
			l.queues[i] <- batch
			l.next[i] = nil
		}
	}
}

// wait waits until all that was added is done, ends the goroutines, and returns
// why they ended early, if they did.
func (l *lanes[T]) wait() error {
	l.flush()
	for _, queue := range l.queues {
		close(queue)
	}
	l.wg.Wait()
	err := l.failed()
	l.stop(nil)
	return err
}
