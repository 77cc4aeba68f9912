package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"streamer/internal/auth"
)

// Retention is how long finished sessions are kept whose names match a pattern.
type Retention struct {
	Pattern string
	For     time.Duration
}

// UnmarshalText parses PATTERN=DURATION.
func (r *Retention) UnmarshalText(text []byte) error {
	var ok bool
	if r.Pattern, r.For, ok = patternDuration(text); !ok {
		return fmt.Errorf("%q: %w", text, errRetention)
	}
	return nil
}

var errRetention = errors.New("need PATTERN=DURATION, such as tmp-*=1h")

func (r Retention) String() string { return r.Pattern + "=" + r.For.String() }

// patternDuration parses PATTERN=DURATION. A name in a pattern may have a =.
func patternDuration(text []byte) (pattern string, d time.Duration, ok bool) {
	at := strings.LastIndexByte(string(text), '=')
	if at < 1 {
		return "", 0, false
	}
	d, err := time.ParseDuration(string(text[at+1:]))
	return string(text[:at]), d, err == nil && d > 0
}

// checkRetain refuses retentions beyond that of the events, 0 for no end.
func checkRetain(list []Retention, kept time.Duration) error {
	for _, r := range list {
		if kept > 0 && r.For > kept {
			return fmt.Errorf("invalid --retain %s: events are kept %s; keep them longer with streamer archive, or with --event-age", r, kept)
		}
	}
	return nil
}

// retainEvery returns the time between two looks for sessions to erase: a tenth of the
// shortest retention, from a minute to ten.
func retainEvery(list []Retention) time.Duration {
	shortest := slices.MinFunc(list, func(a, b Retention) int { return cmp.Compare(a.For, b.For) })
	return min(max(shortest.For/10, time.Minute), 10*time.Minute)
}

// retain erases sessions whose retention is over, until ctx ends.
func (s *Server) retain(ctx context.Context) {
	t := time.NewTicker(retainEvery(s.config.Retain))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			s.eraseOld(ctx)
		}
	}
}

// eraseOld erases the sessions whose retention is over.
func (s *Server) eraseOld(ctx context.Context) {
	n, err := s.Broker.Retire(ctx, func(session string, quiet time.Duration) bool {
		i := slices.IndexFunc(s.config.Retain, func(r Retention) bool { return auth.Match(r.Pattern, session) })
		return i >= 0 && quiet >= s.config.Retain[i].For
	})
	switch {
	case err != nil && ctx.Err() == nil:
		s.log.Warn().Err(err).Int("sessions", n).Msg("not all sessions erased whose retention is over; trying again")
	case n > 0:
		s.log.Info().Int("sessions", n).Msg("sessions erased whose retention is over")
	}
}
