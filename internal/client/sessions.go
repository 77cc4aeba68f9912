package client

import (
	"context"
	"slices"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/snapshot"
)

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
