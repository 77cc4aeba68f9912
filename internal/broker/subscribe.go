package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"
)

// Subscription receives the messages that the server sends on a subject, until
// Close.
type Subscription struct {
	sub  *nats.Subscription
	subs *subscriptions
	lost func()
}

type subscriptions struct {
	mu   sync.Mutex
	open map[*nats.Subscription]*Subscription
}

// Subscribe calls receive with each message on subject, one after the other.
// lost is called where messages may be missing: after a reconnection, and where
// the library dropped some because receive was too slow. Neither may block or
// subscribe.
func (b *Broker) Subscribe(subject string, receive func(*nats.Msg), lost func()) (*Subscription, error) {
	s := &Subscription{subs: &b.subs, lost: lost}
	b.subs.mu.Lock()
	defer b.subs.mu.Unlock()
	var err error
	if s.sub, err = b.nc.Subscribe(subject, receive); err != nil {
		return nil, fmt.Errorf("broker: subscribing to %s: %w", subject, err)
	}
	if b.subs.open == nil {
		b.subs.open = map[*nats.Subscription]*Subscription{}
	}
	b.subs.open[s.sub] = s
	return s, nil
}

// Close ends the subscription. A message that has arrived may still be received.
func (s *Subscription) Close() {
	s.subs.mu.Lock()
	defer s.subs.mu.Unlock()
	delete(s.subs.open, s.sub)
	_ = s.sub.Unsubscribe() // fails where the connection is closed, which ends it too
}

func (ss *subscriptions) lost(sub *nats.Subscription) {
	ss.mu.Lock()
	s := ss.open[sub]
	ss.mu.Unlock()
	if s != nil {
		s.lost()
	}
}

func (ss *subscriptions) lostAll() {
	ss.mu.Lock()
	open := slices.Collect(maps.Values(ss.open))
	ss.mu.Unlock()
	for _, s := range open {
		s.lost()
	}
}

// Flush waits until the server has processed what was sent before. Without a
// connection it returns nil: a reader reads again after a reconnection.
func (b *Broker) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	if err := b.nc.FlushWithContext(ctx); b.nc.IsClosed() {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}
