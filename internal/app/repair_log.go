package app

import (
	"context"
	"errors"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/repair"
)

// useLog sets the log of service to the event log of b. It reports whether the
// event log has events of the session.
func useLog(ctx context.Context, service *repair.Service, b *broker.Broker, session string) (known bool, err error) {
	token, err := events.Token(session)
	if err != nil {
		return false, err
	}
	service.Log = sessionLog{b}
	seq, _, err := b.ChainLast(ctx, token)
	return seq != 0, err
}

// sessionLog implements repair.Log.
type sessionLog struct{ b *broker.Broker }

// Events is repair.Log's.
func (l sessionLog) Events(ctx context.Context, token string, fn func(seq uint64, t events.Type, body []byte) error) error {
	return l.b.Events(ctx, token, 0, func(e broker.Stored) error { return fn(e.Seq, e.Type, e.Data) })
}

// Event is repair.Log's.
func (l sessionLog) Event(ctx context.Context, token string, seq uint64) ([]byte, error) {
	e, err := l.b.Event(ctx, token, seq)
	return e.Data, gone(err)
}

// Blob is repair.Log's.
func (l sessionLog) Blob(ctx context.Context, ref events.Ref) ([]byte, error) {
	data, err := l.b.Blob(ctx, ref)
	return data, gone(err)
}

func gone(err error) error {
	if errors.Is(err, broker.ErrNotFound) {
		return errors.Join(repair.ErrNotFound, err)
	}
	return err
}
