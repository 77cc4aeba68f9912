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
// last input was folded. Several processes may do this at once. It returns how many it erased, and
// continues after an error.
func (b *Broker) Retire(ctx context.Context, due func(session string, quiet time.Duration) bool) (n int, err error) {
	list, err := b.Sessions(ctx, math.MaxInt)
	if err != nil {
		return 0, err
	}
	var last *erasure
	for _, s := range list {
		if s.Open > 0 || !due(s.Session, time.Since(s.Last)) {
			continue
		}
		e, failed := b.retire(ctx, s)
		switch {
		case ctx.Err() != nil:
			return n, ctx.Err()
		case failed != nil && !errors.Is(failed, gateway.ErrHeld):
			err = errors.Join(err, fmt.Errorf("session %s: %w", s.Session, failed))
		case e != nil:
			last, n = e, n+1
		}
	}
	if last != nil { // the large values of all of them
		err = errors.Join(err, last.eraseChunks(ctx))
	}
	return n, err
}

// retire erases a session but for its large values, unless it is not finished. It returns
// nil then.
func (b *Broker) retire(ctx context.Context, s gateway.SessionInfo) (*erasure, error) {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	token, err := events.Token(s.Session)
	if err != nil {
		return nil, err
	}
	finished, err := b.finished(ctx, token, s.Last)
	if err != nil || !finished {
		return nil, err
	}
	e := &erasure{Broker: b, token: token, keep: unreferencedFor}
	return e, e.remove(ctx)
}

// finished reports whether a session has no open run, and nothing since its snapshot, which
// was stored at a time.
func (b *Broker) finished(ctx context.Context, token string, at time.Time) (bool, error) {
	s, ok, err := b.LoadSnapshot(ctx, b.Partition(token), token)
	if err != nil || !ok || !s.At.Equal(at) {
		return false, err
	}
	err = b.SessionInputs(ctx, token, snapshot.ParseHeader(s.Header).Input+1, func(*inputs.Input) error { return broker.ErrStop })
	if errors.Is(err, broker.ErrStop) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	started, err := b.LastOf(ctx, token, events.RunStarted)
	if err != nil {
		return false, err
	}
	ended, err := b.LastOf(ctx, token, events.RunFinished)
	return ended.Seq >= started.Seq, err
}
