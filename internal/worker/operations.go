package worker

import (
	"context"
	"sync"
)

// operation is I/O that the owner of a partition starts. It runs in a goroutine
// of its own and reads or writes no state of the partition.
type operation func(ctx context.Context) completion

// completion is the result of an operation. Its method runs in the owner's
// goroutine. It checks that what the operation read still holds, because the
// owner went on meanwhile.
type completion interface {
	apply(ctx context.Context, q *partition) error
}

// operations starts operations and bounds how many run at once. The owner's
// goroutine calls its methods.
type operations struct {
	limit   int
	running int
	waiting []operation
	done    chan<- finished // has room for the results of all that run
	spawn   func(run func())
}

// finished is the completion of an operation and the group it ran in.
type finished struct {
	group  *operations
	result completion
}

// start runs an operation, at once or when another of the group has finished.
func (o *operations) start(ctx context.Context, op operation) {
	if o.running == o.limit {
		o.waiting = append(o.waiting, op)
		return
	}
	o.running++
	o.spawn(func() { o.done <- finished{o, op(ctx)} })
}

// finish notes that an operation has finished and starts the next that waits.
func (o *operations) finish(ctx context.Context) {
	o.running--
	if len(o.waiting) == 0 {
		o.waiting = nil
		return
	}
	next := o.waiting[0]
	o.waiting[0] = nil
	o.waiting = o.waiting[1:]
	o.start(ctx, next)
}

// together calls f with each number below n, at most atOnce calls at a time, and
// returns when all calls have.
func together(n, atOnce int, f func(i int)) {
	numbers := make(chan int)
	var calls sync.WaitGroup
	for range min(n, atOnce) {
		calls.Go(func() {
			for i := range numbers {
				f(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	calls.Wait()
}
