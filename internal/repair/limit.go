package repair

import (
	"context"
	"sync"
)

// limit is an amount of bytes to be had. Who comes first gets his share first,
// however large it is.
type limit struct {
	turn chan struct{} // whoever takes from free holds it
	back chan struct{} // bytes were given back

	mu   sync.Mutex
	free int
}

func newLimit(bytes int) *limit {
	l := &limit{turn: make(chan struct{}, 1), back: make(chan struct{}, 1), free: bytes}
	return l
}

// take waits for bytes, which are not more than there are; leave gives them
// back.
func (l *limit) take(ctx context.Context, bytes int) (leave func(), err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	for !l.change(-bytes) {
		select {
		case <-l.back:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return sync.OnceFunc(func() {
		l.change(bytes)
		select {
		case l.back <- struct{}{}:
		default: // it is known already
		}
	}), nil
}

// change takes bytes where there are enough, or gives some back.
func (l *limit) change(bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free+bytes < 0 {
		return false
	}
	l.free += bytes
	return true
}
