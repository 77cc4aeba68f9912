package bench

import (
	"context"
	"io"
	"sync"

	"streamer/internal/audit"
	streams "streamer/internal/client"
)

// steps shows on a terminal which measurement of a run is done, and the time that is
// left.
type steps struct {
	stop   context.CancelFunc
	showed sync.WaitGroup

	mu       sync.Mutex // guards progress
	progress audit.Progress
}

// showSteps shows the steps of a run until end is called, if w is a terminal. The
// caller calls next at the beginning of each.
func showSteps(ctx context.Context, w io.Writer, total int) *steps {
	s := &steps{progress: audit.Progress{What: "measurements", Total: uint64(total)}}
	ctx, s.stop = context.WithCancel(ctx)
	s.showed.Go(func() { streams.NewProgressLine(w).Follow(ctx, s.current) })
	return s
}

// next notes the beginning of a step.
func (s *steps) next(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress.Note != "" {
		s.progress.Done++
	}
	s.progress.Note = what
}

func (s *steps) current() audit.Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress
}

// end removes the line.
func (s *steps) end() {
	s.stop()
	s.showed.Wait()
}
