package client

import (
	"context"
	"math"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/snapshot"
)

// Sessions returns at most limit sessions that have a snapshot and events, newest
// first. A session is one of them until its erasure is complete.
func (b *Broker) Sessions(ctx context.Context, limit int) ([]gateway.SessionInfo, error) {
	erasing, err := b.Erasures(ctx)
	if err != nil {
		return nil, err
	}
	return b.sessions(ctx, limit, func(token string, h *snapshot.Header) bool { return h.HasEvents() || erasing[token] })
}

// ErasedSessions returns the sessions that have no event but that of their erasure.
func (b *Broker) ErasedSessions(ctx context.Context) ([]gateway.SessionInfo, error) {
	return b.sessions(ctx, math.MaxInt, func(_ string, h *snapshot.Header) bool { return h.Erased })
}

func (b *Broker) sessions(ctx context.Context, limit int, match func(token string, h *snapshot.Header) bool) ([]gateway.SessionInfo, error) {
	var list []gateway.SessionInfo
	_, err := b.ListSnapshots(ctx, -1, func(token string, _ uint64, header map[string]string, at time.Time) error {
		name, err := events.ParseToken(token)
		h := snapshot.ParseHeader(header)
		if err != nil || !match(token, &h) {
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
