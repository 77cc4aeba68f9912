package app

import (
	"context"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/gateway"
)

// tracking implements gateway.Tracking.
type tracking struct {
	watch *watch
	b     *Broker
	token string
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// Track follows what becomes of inputs of a session that are stored from now on.
func (s store) Track(ctx context.Context, token string) (gateway.Tracking, error) {
	w, err := newWatch(ctx, s.Broker)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	t := &tracking{watch: w, b: s.Broker, token: token, stop: stop}
	t.ended.Go(func() { w.failed = s.Broker.Tail(ctx, token, w.from, w.take) })
	return t, nil
}

// Stored records an input.
func (t *tracking) Stored(seq uint64, line int) { t.watch.sent(seq, line) }

// Outcome waits until the inputs are folded.
func (t *tracking) Outcome(ctx context.Context, limit time.Duration) (rejected int, why events.Rejections, complete bool) {
	complete = t.watch.await(ctx, t.b, t.token, limit)
	t.watch.mu.Lock()
	defer t.watch.mu.Unlock()
	return t.watch.rejected, t.watch.rejections, complete
}

// Close stops reading the events.
func (t *tracking) Close() {
	t.stop()
	t.ended.Wait()
}
