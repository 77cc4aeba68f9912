package app

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/worker"
)

// store is the gateway's view of the broker.
type store struct {
	*broker.Broker
	worker *worker.Worker
	opened <-chan struct{} // closed when inputs are taken
}

// Sessions lists the saved sessions, newest first.
func (s store) Sessions(ctx context.Context, limit int) ([]gateway.SessionInfo, error) {
	var list []gateway.SessionInfo
	err := s.ListStates(ctx, -1, func(token string, _ uint64, header map[string]string, at time.Time) error {
		name, err := events.ParseToken(token)
		if err != nil {
			return nil // a rejected token has a chain, but is no session
		}
		open, err := strconv.Atoi(header[worker.HeaderOpen])
		if err != nil {
			open = 0
		}
		list = append(list, gateway.SessionInfo{Session: name, Last: at, Open: open})
		return nil
	})
	slices.SortFunc(list, func(a, b gateway.SessionInfo) int { return b.Last.Compare(a.Last) })
	return list[:min(limit, len(list))], err
}

// Ready is gateway.Store's: the streams answer, and no partition has stopped or
// is far behind.
func (s store) Ready(ctx context.Context) error {
	if err := errors.Join(s.Broker.Ready(ctx), s.worker.Problem()); err != nil {
		return err
	}
	select {
	case <-s.opened:
		return nil
	default:
		return gateway.ErrNotOpen
	}
}
