package server

import (
	"context"
	"fmt"
	"slices"
	"time"

	"streamer/internal/auth"
)

// retainEvery is the time between two looks for sessions whose retention is over.
const retainEvery = 5 * time.Minute

// checkRetain refuses retentions beyond that of the events, 0 for no end.
func checkRetain(list []PatternTime, kept time.Duration) error {
	for _, r := range list {
		if kept > 0 && r.Time > kept {
			return fmt.Errorf("invalid --retain %s: events are kept %s; keep them longer with streamer archive, or with --event-age", r, kept)
		}
	}
	return nil
}

// retain erases sessions whose retention is over, from when inputs are accepted until ctx
// ends.
func (s *Server) retain(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.opened:
	}
	t := time.NewTicker(retainEvery)
	defer t.Stop()
	for {
		s.eraseOld(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func (s *Server) eraseOld(ctx context.Context) {
	n, err := s.Broker.Retire(ctx, func(session string, quiet time.Duration) bool {
		i := slices.IndexFunc(s.config.Retain, func(r PatternTime) bool { return auth.Match(r.Pattern, session) })
		return i >= 0 && quiet >= s.config.Retain[i].Time
	})
	if err != nil && ctx.Err() == nil {
		s.log.Warn().Err(err).Msg("not all sessions erased whose retention is over; trying again")
	}
	if n > 0 {
		s.log.Info().Int("sessions", n).Msg("sessions erased whose retention is over")
	}
}
