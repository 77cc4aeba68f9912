package broker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"streamer/internal/events"
)

// Bounds of what waits for one tail. Beyond them it reads the log again.
const (
	tailEvents = 512
	tailBytes  = 256 << 10
)

// A republished event is delivered at most once, and the last one of a session
// has none behind it that would show that it is missing: so the chain's end is
// looked up now and then.
const (
	tailFirstCheck = time.Second // in a cluster a new subscription is known everywhere only after a moment
	tailCheck      = 30 * time.Second
)

// Tail reads the events after sequence after, of one session or, with token
// "", of all: first the history with live false, then once fn(events.Record{}, true),
// then what comes, for ever, with live true. No event is left out and none
// comes twice; forged messages are passed over. Tails of one session share a
// NATS subscription; a slow fn holds up only its own. after must not be beyond the log's end (EventBounds): what
// is stored up to it is never given. Tail returns fn's error or ctx's.
func (b *Broker) Tail(ctx context.Context, token string, after uint64, fn func(e events.Record, live bool) error) error {
	if token == "" {
		return b.tailAll(ctx, after, fn)
	}
	t := &tail{b: b, token: token, last: after, fn: fn, wake: make(chan struct{}, 1)}
	// First listen, then read: what is stored meanwhile comes twice, not never.
	w, err := b.watches.join(t)
	if err != nil {
		return err
	}
	defer b.watches.leave(t)
	if err := b.flush(ctx); err != nil {
		return err
	}
	if err := t.catchUp(ctx, false); err != nil {
		return err
	}
	if err := fn(events.Record{}, true); err != nil {
		return err
	}
	return t.follow(ctx, w)
}

// tailAll reads the log itself: one consumer for everything is cheap.
func (b *Broker) tailAll(ctx context.Context, after uint64, fn func(e events.Record, live bool) error) error {
	live := false
	return b.read(ctx, eventReading("", func(batch []stored, pending uint64) error {
		for _, m := range batch {
			if s := b.logged(m); s.Forged == "" {
				if err := fn(s.Record, live); err != nil {
					return err
				}
			}
		}
		if pending > 0 || live {
			return nil
		}
		live = true
		return fn(events.Record{}, true)
	}), after+1)
}

// flush waits until the server has heard what was sent before. Where the
// connection is lost there is nothing to wait for: tails read again after it
// is back.
func (b *Broker) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := b.nc.FlushWithContext(ctx); b.nc.IsClosed() {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return nil
}

// tail is one reader of a session. fn and last belong to the goroutine that
// called Tail; what waits for it is under mu.
type tail struct {
	b     *Broker
	token string
	last  uint64 // sequence of the last event given to fn
	fn    func(events.Record, bool) error
	wake  chan struct{}

	mu    sync.Mutex
	queue []*Message
	bytes int
	lost  bool // something did not come or had no room
}

// catchUp reads from the log what is behind last.
func (t *tail) catchUp(ctx context.Context, live bool) error {
	return t.b.Messages(ctx, t.token, t.last, func(s Message) error { return t.give(s, live) })
}

func (t *tail) give(s Message, live bool) error {
	t.last = s.Seq
	if s.Forged != "" {
		return nil
	}
	return t.fn(s.Record, live)
}

// follow gives what comes, and reads the log where something did not.
func (t *tail) follow(ctx context.Context, w *watch) error {
	check := time.NewTimer(tailFirstCheck)
	defer check.Stop()
	for {
		select {
		case <-t.wake:
			if err := t.drain(ctx); err != nil {
				return err
			}
		case <-check.C:
			w.check(ctx, t.last)
			check.Reset(tailCheck)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (t *tail) drain(ctx context.Context) error {
	queue, lost := t.takeAll()
	if lost {
		return t.catchUp(ctx, true)
	}
	for _, s := range queue {
		if s.linked && s.Prev > t.last {
			if err := t.fill(ctx, s.Prev); err != nil {
				return err
			}
		}
		if s.Seq > t.last { // or the log has given it already
			if err := t.give(*s, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill reads the log until it has reached seq. A replica may not have it yet.
func (t *tail) fill(ctx context.Context, seq uint64) error {
	for try := 0; ; try++ {
		if err := t.catchUp(ctx, true); err != nil {
			return err
		}
		if t.last >= seq {
			return nil
		}
		if err := t.b.again.pause(ctx, backoff(try)); err != nil {
			return err
		}
	}
}

// put queues an event without ever waiting.
func (t *tail) put(s *Message) {
	t.mu.Lock()
	switch {
	case t.lost:
	case len(t.queue) >= tailEvents || t.bytes > tailBytes:
		t.queue, t.bytes, t.lost = nil, 0, true
	default:
		t.queue = append(t.queue, s)
		t.bytes += len(s.Data)
	}
	t.mu.Unlock()
	t.poke()
}

// lose lets the tail read the log again.
func (t *tail) lose() {
	t.mu.Lock()
	t.queue, t.bytes, t.lost = nil, 0, true
	t.mu.Unlock()
	t.poke()
}

func (t *tail) takeAll() (queue []*Message, lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue, lost = t.queue, t.lost
	t.queue, t.bytes, t.lost = nil, 0, false
	return queue, lost
}

func (t *tail) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}
