package worker

import (
	"context"
	"sync/atomic"
	"time"
)

// shared is a reading of the logs that several goroutines need at the same time.
// The first of them reads, and the others wait for its result. The zero value
// has no reading.
type shared[T any] struct {
	latest atomic.Pointer[reading[T]]
}

// reading is one reading. Its result is set when done is closed.
type reading[T any] struct {
	began time.Time
	epoch uint64 // of the connection when it began
	done  chan struct{}
	value T
	err   error
}

// get returns the latest reading if usable accepts it. Otherwise it reads. A
// reading that failed is reported only to the caller that made it.
func (s *shared[T]) get(ctx context.Context, epoch uint64, usable func(*reading[T]) bool, read func(context.Context) (T, error)) (T, error) {
	for {
		r := s.latest.Load()
		if r != nil {
			select {
			case <-r.done:
			case <-ctx.Done():
				var none T
				return none, ctx.Err()
			}
			if r.err == nil && usable(r) {
				return r.value, nil
			}
		}
		own := &reading[T]{began: time.Now(), epoch: epoch, done: make(chan struct{})}
		if !s.latest.CompareAndSwap(r, own) {
			continue // another goroutine began to read
		}
		own.value, own.err = read(ctx)
		close(own.done)
		return own.value, own.err
	}
}

// forget releases the memory of the latest reading.
func (s *shared[T]) forget() { s.latest.Store(nil) }
