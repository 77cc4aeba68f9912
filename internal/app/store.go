package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"streamer/internal/broker/eventlog"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/internal/snapshot"
)

// store implements gateway.Store.
type store struct {
	*Broker
	problem func() error    // why this process is not ready
	opened  <-chan struct{} // closed when inputs are accepted
}

// Publish stores an input and returns its sequence. It waits until inputs are
// accepted.
func (s store) Publish(ctx context.Context, token string, kind inputs.Kind, msgID string, header inputs.Header, data []byte) (uint64, error) {
	select {
	case <-s.opened:
		return s.Append(ctx, token, kind, msgID, header, data)
	case <-ctx.Done():
		return 0, gateway.ErrNotOpen
	}
}

// Tail reads the events of a session.
func (s store) Tail(ctx context.Context, token string, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	return s.Follow(ctx, token, after, fn, flush)
}

// TailMany reads the events of several sessions.
func (s store) TailMany(ctx context.Context, tokens []string, match func(token string) bool, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	return s.Broker.TailMany(ctx, eventlog.Selection{Tokens: tokens, Match: match}, after, fn, flush)
}

// Sessions returns at most limit sessions that have a snapshot and events, newest
// first.
func (b *Broker) Sessions(ctx context.Context, limit int) ([]gateway.SessionInfo, error) {
	var list []gateway.SessionInfo
	_, err := b.ListSnapshots(ctx, -1, func(token string, _ uint64, header map[string]string, at time.Time) error {
		name, err := events.ParseToken(token)
		h := snapshot.ParseHeader(header)
		if err != nil || !h.HasEvents() {
			return nil // a rejected token has an event log, but is not a session
		}
		list = append(list, gateway.SessionInfo{Session: name, Last: at, Open: h.Open})
		return nil
	})
	return latest(list, limit), err
}

// latest returns at most limit sessions, newest first. Of a session that is listed
// several times, because its snapshot was replaced meanwhile, it returns the newest.
func latest(list []gateway.SessionInfo, limit int) []gateway.SessionInfo {
	slices.SortStableFunc(list, func(a, b gateway.SessionInfo) int { return b.Last.Compare(a.Last) })
	seen := map[string]bool{}
	list = slices.DeleteFunc(list, func(s gateway.SessionInfo) bool {
		if seen[s.Session] {
			return true
		}
		seen[s.Session] = true
		return false
	})
	return list[:min(limit, len(list))]
}

// Ready returns an error if the streams do not answer, a partition has stopped or
// is far behind, or inputs are not accepted yet.
func (s store) Ready(ctx context.Context) error {
	if err := errors.Join(s.Broker.Ready(ctx), s.problem()); err != nil {
		return err
	}
	select {
	case <-s.opened:
		return nil
	default:
		return gateway.ErrNotOpen
	}
}
