package repair

import (
	"context"
	"sync"
)

// limit is a FIFO byte-weighted semaphore: a large request is served before the
// smaller ones behind it.
type limit struct {
	turn     chan struct{} // held by the request that waits for bytes
	released chan struct{} // signals that bytes were released

	mu   sync.Mutex
	free int
}

func newLimit(bytes int) *limit {
	return &limit{turn: make(chan struct{}, 1), released: make(chan struct{}, 1), free: bytes}
}

// acquire waits for bytes, which must not exceed the limit. The caller calls
// release, once or more often, to return them.
func (l *limit) acquire(ctx context.Context, bytes int) (release func(), err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	for !l.change(-bytes) {
		select {
		case <-l.released:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(func() {
		l.change(bytes)
		select {
		case l.released <- struct{}{}:
		default: // the signal is pending already
		}
	}), nil
}

// change adds bytes to the free ones. It returns false, and changes nothing, if
// there would be fewer than none.
func (l *limit) change(bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free+bytes < 0 {
		return false
	}
	l.free += bytes
	return true
}
