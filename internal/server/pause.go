package server

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"streamer/internal/client"
)

const (
	pauseEvery = time.Second // between two looks at whether new sessions are refused
	drainEvery = 100 * time.Millisecond
)

// pauseKnown is how long it counts what a look showed. A process that was frozen looks again
// before it accepts a session.
const pauseKnown = 2 * pauseEvery

// pause states whether a process refuses new sessions.
type pause struct {
	seen   atomic.Pointer[pauseSeen]
	ending atomic.Bool // this one does, because it ends when no call is open
}

// pauseSeen is whether every process refused new sessions at a time.
type pauseSeen struct {
	paused bool
	at     time.Time
}

// look reports whether every process refuses new sessions, as was seen less than age ago.
func (p *pause) look(ctx context.Context, log *client.Broker, age time.Duration) (bool, error) {
	now := time.Now()
	if seen := p.seen.Load(); seen != nil && now.Sub(seen.at) < age {
		return seen.paused, nil
	}
	paused, err := log.Paused(ctx)
	if err == nil {
		p.seen.Store(&pauseSeen{paused, now})
	}
	return paused, err
}

// watchPause looks whether new sessions are refused, until ctx ends.
func (s *Server) watchPause(ctx context.Context) {
	t := time.NewTicker(pauseEvery)
	defer t.Stop()
	for was := false; ; {
		if paused, err := s.pause.look(ctx, s.Broker, 0); err == nil && paused != was {
			was = paused
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
	if seen := s.pause.seen.Load(); seen == nil || !seen.paused {
		return ""
	}
	return fmt.Sprintf("new sessions are refused until `streamer pause --end`; open calls of this process: %d", s.Worker.Stats().Open)
}
