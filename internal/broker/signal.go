package broker

import (
	"context"
	"sync"
	"time"
)

type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func newSignal() *signal { return &signal{ch: make(chan struct{})} }

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ch
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.ch)
	s.ch = make(chan struct{})
}

// backoff returns the pause before retry n, counted from 0.
func backoff(n int) time.Duration {
	return min(20*time.Millisecond<<min(n, 10), 2*time.Second)
}

// Pause waits for d, or less if ctx ends or a connection comes back. It returns
// ctx's error.
func (b *Broker) Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-b.again.next():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Backoff pauses before retry n, counted from 0.
func (b *Broker) Backoff(ctx context.Context, n int) error { return b.Pause(ctx, backoff(n)) }

// StaleTime is how long a server that was cut off from the others can answer as if it still
// led them: it looks every 10 s for a quorum that it has not had for 10 s.
const StaleTime = 20 * time.Second

const staleEvery = 250 * time.Millisecond // between two tries of Confirm

// Confirm asks until the answer is good, or StaleTime is over: then the bad one holds. A
// stream without replicas has no outdated leader.
func Confirm(ctx context.Context, replicated bool, ask func() (good bool, err error)) error {
	for end := time.Now().Add(StaleTime); ; {
		good, err := ask()
		if err != nil || good || !replicated || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(staleEvery):
		}
	}
}
