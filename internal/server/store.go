package server

import (
	"context"
	"errors"

	"streamer/internal/broker/eventlog"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
)

type store struct {
	*client.Broker
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

func (s store) Tail(ctx context.Context, token string, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	return s.Follow(ctx, token, after, fn, flush)
}

func (s store) TailMany(ctx context.Context, tokens []string, match func(token string) bool, after uint64, fn func(events.Record, bool) error, flush func() error) error {
	return s.Broker.TailMany(ctx, eventlog.Selection{Tokens: tokens, Match: match}, after, fn, flush)
}

func (s store) Track(ctx context.Context, token string) (gateway.Tracking, error) {
	return s.Broker.Track(ctx, token)
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
