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

// streams are the open ones: counted, so that there are not too many, and
// ended when the server stops.
type streams struct {
	max int

	mu      sync.Mutex
	open    map[*stream]context.CancelCauseFunc
	closing bool
	empty   chan struct{} // closed once closing and none is open
}

// enter counts a stream in, or says why not. end is called when it has to
// end before its client does.
func (s *streams) add(one *stream, end context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return errShutdown
	}
	if len(s.open) >= s.max {
		return errTooManyStreams
	}
	if s.open == nil {
		s.open = map[*stream]context.CancelCauseFunc{}
	}
	s.open[one] = end
	return nil
}

func (s *streams) remove(one *stream) {
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

func (s *streams) draining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// drain lets no more in and ends each stream at a random moment within
// spread: if all ended at once, all would come back at once to whoever
// serves next. The channel is closed when the last one has left.
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
