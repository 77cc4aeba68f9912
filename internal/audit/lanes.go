package audit

import (
	"context"
	"runtime"
	"sync"
)

// laneCapacity is the number of batches that may wait for a goroutine.
const laneCapacity = 4

// lanes processes values on as many goroutines as there are processors. One
// goroutine processes all values of a partition, in order.
type lanes[T any] struct {
	stop   context.CancelCauseFunc
	failed func() error // returns the first error of do, nil if there was none
	queues []chan []T
	next   [][]T // the values added since the last flush, by queue
	wg     sync.WaitGroup
}

// newLanes starts the goroutines, which wait ends. They call do with each value
// until it returns an error, which also ends the returned context.
func newLanes[T any](ctx context.Context, do func(ctx context.Context, v T) error) (context.Context, *lanes[T]) {
	n := runtime.GOMAXPROCS(0)
	l := &lanes[T]{queues: make([]chan []T, n), next: make([][]T, n)}
	ctx, l.stop = context.WithCancelCause(ctx)
	l.failed = func() error { return context.Cause(ctx) }
	for i := range l.queues {
		queue := make(chan []T, laneCapacity)
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

func (l *lanes[T]) add(partition int, v T) {
	i := partition % len(l.queues)
	l.next[i] = append(l.next[i], v)
}

// flush sends the batches to the goroutines. It waits while their queues are full.
func (l *lanes[T]) flush() {
	for i, batch := range l.next {
		if len(batch) > 0 {
			l.queues[i] <- batch
			l.next[i] = nil
		}
	}
}

// wait processes the rest, ends the goroutines, and returns the first error of do,
// or that of the context, if one of them ended the processing early.
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
