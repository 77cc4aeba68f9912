package server

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"streamer/internal/auth"
)

// eraseEvery is the time between two looks for erasures that are to be completed, and for
// sessions whose retention is over.
const eraseEvery = time.Minute

// carryEvery is the time between two looks for partitions that this process has taken over.
const carryEvery = 2 * time.Second

// ownErasure is the time in which the process that began an erasure completes it, if it can.
const ownErasure = 5 * time.Minute

// farBehind is how long a retention may be over before /readyz reports it.
const farBehind = 10 * time.Minute

// retention is how far the erasures are behind.
type retention struct {
	left atomic.Int64 // sessions that are due
	by   atomic.Int64 // how long the next one is due, in nanoseconds
}

// checkRetain refuses retentions beyond that of the events, 0 for no end.
func checkRetain(list []PatternTime, kept time.Duration) error {
	for _, r := range list {
		if kept > 0 && r.Time > kept {
			return fmt.Errorf("invalid --retain %s: events are kept %s; keep them longer with streamer archive, or with --event-age", r, kept)
		}
	}
	return nil
}

// erase completes erasures that were cut short, and erases sessions whose retention is over,
// of the partitions of this process, from when inputs are accepted until ctx ends.
func (s *Server) erase(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.opened:
	}
	t := time.NewTicker(carryEvery)
	defer t.Stop()
	looked, seen := time.Time{}, []int(nil)
	for started := time.Now(); ; {
		carried := s.carried()
		more := slices.ContainsFunc(carried, func(p int) bool { return !slices.Contains(seen, p) })
		due := time.Since(looked) >= eraseEvery
		if seen = carried; more || due {
			s.resume(ctx, started)
		}
		if due {
			s.retire(ctx)
			looked = time.Now()
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// carried returns the partitions of this process.
func (s *Server) carried() (list []int) {
	for _, c := range s.Worker.Stats().Carried {
		list = append(list, c.Partition)
	}
	return list
}

func (s *Server) carries(p int) bool { return slices.Contains(s.carried(), p) }

// resume completes the erasures of processes that ended before this one started, and those that
// no process has completed.
func (s *Server) resume(ctx context.Context, started time.Time) {
	before := time.Now().Add(-ownErasure)
	if before.Before(started) {
		before = started
	}
	n, err := s.Broker.Resume(ctx, s.carries, before)
	s.erased(ctx, n, err, "erasures completed that were cut short")
}

func (s *Server) retire(ctx context.Context) {
	if len(s.config.Retain) == 0 {
		return
	}
	n, err := s.Broker.Retire(ctx, s.carries, s.config.due, func(left int, by time.Duration) {
		s.retention.left.Store(int64(left))
		s.retention.by.Store(int64(by))
	})
	s.erased(ctx, n, err, "sessions erased whose retention is over")
}

// due returns since when the retention of a session is over.
func (c *Config) due(session string, quiet time.Duration) (time.Duration, bool) {
	i := slices.IndexFunc(c.Retain, func(r PatternTime) bool { return auth.Match(r.Pattern, session) })
	if i < 0 {
		return 0, false
	}
	return quiet - c.Retain[i].Time, quiet >= c.Retain[i].Time
}

func (s *Server) erased(ctx context.Context, n int, err error, what string) {
	if err != nil && ctx.Err() == nil {
		s.log.Warn().Err(err).Msg("not all sessions erased; trying again")
	}
	if n > 0 {
		s.log.Info().Int("sessions", n).Msg(what)
	}
}

// warning returns whether the retention is far behind, "" if it is not.
func (r *retention) warning() string {
	if by := time.Duration(r.by.Load()); by > farBehind {
		return fmt.Sprintf("the retention of %d sessions is over and they are not erased yet, one of them since %s", r.left.Load(), by.Round(time.Second))
	}
	return ""
}
