package broker

import (
	"context"
	"sync"
	"time"
)

// signal wakes any number of goroutines that wait for an occurrence.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func newSignal() *signal { return &signal{ch: make(chan struct{})} }

// next returns a channel that is closed when the signal fires next.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch
}

// fire wakes the goroutines that wait.
func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
	s.ch = make(chan struct{})
}

// pause waits for d, or less if ctx ends or the signal fires.
func (s *signal) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.next():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// backoff returns the pause before retry n, counted from 0.
func backoff(n int) time.Duration {
	return min(20*time.Millisecond<<min(n, 10), 2*time.Second)
}

// Pause waits for d, or less if ctx ends or a connection comes back. It returns
// ctx's error.
func (b *Broker) Pause(ctx context.Context, d time.Duration) error { return b.again.pause(ctx, d) }

// Backoff pauses before retry n, counted from 0.
func (b *Broker) Backoff(ctx context.Context, n int) error { return b.Pause(ctx, backoff(n)) }
