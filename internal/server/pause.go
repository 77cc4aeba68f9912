package server

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pauseEvery = time.Second // between two looks at whether new sessions are refused
	drainEvery = 100 * time.Millisecond
)

// pause states whether a process refuses new sessions.
type pause struct {
	all    atomic.Bool // every process does
	ending atomic.Bool // this one does, because it ends when no call is open
}

func (p *pause) refuses() bool { return p.all.Load() || p.ending.Load() }

// watchPause reads whether new sessions are refused, until ctx ends.
func (s *Server) watchPause(ctx context.Context) {
	t := time.NewTicker(pauseEvery)
	defer t.Stop()
	for {
		if paused, err := s.Broker.Paused(ctx); err == nil && s.pause.all.Swap(paused) != paused {
			s.log.Info().Bool("paused", paused).Msg("pause changed")
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// drain returns a context that ends after ctx: when no call of this process is open,
// Config.Drain is over, or the process gets another signal to end.
func (s *Server) drain(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.config.Drain <= 0 {
		return context.WithCancel(ctx)
	}
	later, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer stop()
		again := make(chan os.Signal, 1)
		signal.Notify(again, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(again)
		s.pause.ending.Store(true)
		s.log.Info().Int("open", s.Worker.Stats().Open).Dur("most", s.config.Drain).Msg("ending when no call is open")
		t := time.NewTicker(drainEvery)
		defer t.Stop()
		for end := time.Now().Add(s.config.Drain); s.Worker.Stats().Open > 0 && time.Now().Before(end); {
			select {
			case <-later.Done():
				return
			case <-again:
				return
			case <-t.C:
			}
		}
	})
	return later, stop
}

// pauseWarning returns what /readyz reports of a pause, "" without one.
func (s *Server) pauseWarning() string {
	if !s.pause.all.Load() {
		return ""
	}
	return fmt.Sprintf("new sessions are refused until `streamer pause --end`; open calls of this process: %d", s.Worker.Stats().Open)
}
