package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/gateway"
	"streamer/internal/inputs"
	"streamer/internal/snapshot"
)

// Retire erases the finished sessions for which due returns true, with the time since their
// last snapshot. Several processes may do this at once. It returns how many it erased, and
// continues with the others after an error.
func (b *Broker) Retire(ctx context.Context, due func(session string, quiet time.Duration) bool) (n int, err error) {
	list, err := b.Sessions(ctx, math.MaxInt)
	var last *erasure
	for _, s := range list {
		token, failed := events.Token(s.Session)
		if failed != nil || s.Open > 0 || !due(s.Session, time.Since(s.Last)) || ctx.Err() != nil {
			continue
		}
		e := &erasure{Broker: b, token: token, keep: unreferencedFor}
		switch failed := e.retire(ctx, s.Last); {
		case failed != nil && !errors.Is(failed, gateway.ErrHeld):
			err = errors.Join(err, fmt.Errorf("session %s: %w", s.Session, failed))
		case e.seq > 0:
			last, n = e, n+1
		}
	}
	if last != nil {
		err = errors.Join(err, last.eraseChunks(ctx)) // of all of them
	}
	return n, err
}

// retire erases a session, but for its large values, if it is finished: it has no open run,
// and nothing since its snapshot, which was stored at a time.
func (e *erasure) retire(ctx context.Context, at time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	s, ok, err := e.LoadSnapshot(ctx, e.Partition(e.token), e.token)
	if err != nil || !ok || !s.At.Equal(at) {
		return err
	}
	err = e.SessionInputs(ctx, e.token, snapshot.ParseHeader(s.Header).Input+1, func(*inputs.Input) error { return broker.ErrStop })
	if errors.Is(err, broker.ErrStop) {
		return nil
	}
	if err != nil {
		return err
	}
	started, err := e.LastOf(ctx, e.token, events.RunStarted)
	if err != nil {
		return err
	}
	if ended, err := e.LastOf(ctx, e.token, events.RunFinished); err != nil || ended.Seq < started.Seq {
		return err
	}
	return e.remove(ctx)
}
