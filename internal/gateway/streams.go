package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

var (
	errTooManyStreams = errors.New("gateway: too many streams")
	errShutdown       = errors.New("gateway: shutting down")
)

// streams are the open streams, or the other requests without a known end. Their
// number is limited, and they are ended when the server stops.
type streams struct {
	max int

	mu      sync.Mutex
	open    map[any]context.CancelCauseFunc
	closing bool
	empty   chan struct{} // closed when closing is set and no stream is open
}

// add adds a stream. It returns an error if there are too many or the server stops.
// end is called to end the stream.
func (s *streams) add(one any, end context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errShutdown
	}
	if len(s.open) >= s.max {
		return errTooManyStreams
	}
	if s.open == nil {
		s.open = map[any]context.CancelCauseFunc{}
	}
	s.open[one] = end
	return nil
}

func (s *streams) remove(one any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, one)
	if s.closing && len(s.open) == 0 {
		close(s.empty)
	}
}

func (s *streams) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// show reports whether one of the streams has all types of events of a session. A stream of
// several sessions shows each.
func (s *streams) show(session string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		if c, ok := one.(*stream); !ok || c.types == nil && (c.session == "" || c.session == session) {
			return true
		}
	}
	return false
}

func (s *streams) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// drain refuses new streams and ends each open one at a random time within spread,
// so that clients do not all reconnect at the same time. The returned channel is
// closed when the last stream has ended.
func (s *streams) drain(spread time.Duration) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return s.empty
	}
	s.closing, s.empty = true, make(chan struct{})
	if len(s.open) == 0 {
		close(s.empty)
	}
	for _, end := range s.open {
		time.AfterFunc(rand.N(spread), func() { end(errShutdown) })
	}
	return s.empty
}

// cut closes the connections of the streams that are still open.
func (s *streams) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		if c, ok := one.(interface{ cut() }); ok {
			c.cut()
		}
	}
}
