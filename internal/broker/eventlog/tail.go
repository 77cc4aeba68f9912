package eventlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"streamer/internal/events"
)

// Limits of the events that wait for one tail. Above them it reads the log again.
const (
	tailEvents = 512
	tailBytes  = 256 << 10
)

// A republished event is delivered at most once, and no later event shows that
// the last one of a session is missing. So a tail compares the session's head
// with what has arrived from time to time.
const (
	tailFirstCheck = time.Second // in a cluster, a new subscription takes a moment to be known everywhere
	tailCheck      = 30 * time.Second
)

// Tail reads the events of a session after sequence after: first the history with live
// false, then once fn(events.Record{}, true), then new events, without end, with live
// true. It calls flush, if not nil, after new events, and after the call without an event,
// when no event waits. No event is left out or read twice; forged messages are skipped.
// Tails of one session share a NATS subscription; a slow fn delays only its own tail. after
// must not be beyond the log's end (EventBounds): events that are stored up to it are never
// read. Tail returns the error of fn, flush or ctx, and an error if an event that has to be
// passed to fn is deleted before it is read.
func (l *Log) Tail(ctx context.Context, token string, after uint64, fn func(e events.Record, live bool) error, flush func() error) error {
	return l.tail(ctx, &tail{l: l, token: token, last: after, fn: fn, flush: flush})
}

func (l *Log) tail(ctx context.Context, t *tail) error {
	t.wake = make(chan struct{}, 1)
	if t.flush == nil {
		t.flush = func() error { return nil }
	}
	// Subscribe before reading: an event stored meanwhile then arrives twice, and
	// never not at all.
	w, err := l.watches.join(t)
	if err != nil {
		return err
	}
	defer l.watches.leave(t)
	if err := l.b.Flush(ctx); err != nil {
		return err
	}
	if err := t.history(ctx); err != nil {
		return err
	}
	if t.selected != nil {
		w.begin(t.last)
	}
	if err := t.fn(events.Record{}, true); err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.follow(ctx, w)
}

func (t *tail) history(ctx context.Context) error {
	if t.token != "" {
		entries, leave := t.l.enter(ctx, t.token, t.last)
		defer leave()
		for i := range entries {
			if e := &entries[i]; e.Seq > t.last {
				if err := t.pass(e, false); err != nil {
					return err
				}
			}
		}
	}
	return t.catchUp(ctx, false)
}

// tail is one reader of a session, or of the selected ones. The goroutine that called
// Tail owns fn and last; mu guards the events that wait for it.
type tail struct {
	l        *Log
	token    string     // of the session; "" if several are selected
	selected *selection // nil for one session
	last     uint64     // all events up to this sequence were passed to fn
	fn       func(events.Record, bool) error
	flush    func() error
	wake     chan struct{}

	mu    sync.Mutex
	queue []*Entry
	bytes int
	lost  bool // an event did not arrive or exceeded the limits
}

func (t *tail) catchUp(ctx context.Context, live bool) error {
	if t.selected != nil {
		return t.catchUpMany(ctx, live)
	}
	return t.l.Entries(ctx, t.token, t.last, func(e Entry) error { return t.pass(&e, live) })
}

func (t *tail) pass(e *Entry, live bool) error {
	t.last = e.Seq
	if e.Forged != "" {
		return nil
	}
	return t.fn(e.Record, live)
}

func (t *tail) follow(ctx context.Context, w *watch) error {
	check, again := time.NewTimer(tailFirstCheck), tailFirstCheck
	defer check.Stop()
	for {
		select {
		case <-t.wake:
			if err := t.drain(ctx); err != nil {
				return err
			}
			if t.idle() {
				if err := t.flush(); err != nil {
					return err
				}
			}
		case <-check.C:
			if w.check(ctx, t.last) {
				check.Reset(again)
				again = min(2*again, tailCheck)
			} else {
				check.Reset(tailCheck)
				again = tailFirstCheck
			}
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
	for _, e := range queue {
		if e.linked && e.Prev > t.last {
			if err := t.fill(ctx, e.Prev); err != nil {
				return err
			}
		}
		if e.Seq > t.last { // else it was read from the log
			if err := t.pass(e, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tail) fill(ctx context.Context, seq uint64) error {
	filter := everyEvent
	if t.selected == nil {
		filter = filterOf(t.token)
	}
	return t.l.until(ctx, filter, seq, func() (uint64, error) { err := t.catchUp(ctx, true); return t.last, err })
}

// put queues an event. It never blocks.
func (t *tail) put(e *Entry) {
	t.mu.Lock()
	switch {
	case t.lost:
	case len(t.queue) >= tailEvents || t.bytes > tailBytes:
		t.queue, t.bytes, t.lost = nil, 0, true
	default:
		t.queue = append(t.queue, e)
		t.bytes += len(e.Data)
	}
	t.mu.Unlock()
	t.poke()
}

func (t *tail) lose() {
	t.mu.Lock()
	t.queue, t.bytes, t.lost = nil, 0, true
	t.mu.Unlock()
	t.poke()
}

func (t *tail) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.queue) == 0 && !t.lost
}

func (t *tail) takeAll() (queue []*Entry, lost bool) {
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

// errGone reports that an event that was in the log is not there any more: it was
// deleted or has expired, or the log lost its end.
var errGone = errors.New("eventlog: an event is not in the log any more")

// goneTries is the number of times in a row that the stream's leader has to deny an
// event before it is gone. A leader that was elected a moment ago may not have applied
// all that is stored. The pauses between them add up to 1.26 s.
const goneTries = 7

// until calls read, which returns the sequence that it has reached, until that is at
// least seq: the replica that answers may not have the event yet. It returns errGone if
// the leader has neither the event nor a later one on the filter.
func (l *Log) until(ctx context.Context, filter string, seq uint64, read func() (uint64, error)) error {
	denied := 0 // times in a row
	for try := 0; ; try++ {
		if last, err := read(); err != nil || last >= seq {
			return err
		}
		head, err := l.headOf(ctx, filter)
		if err != nil {
			return err
		}
		if denied++; head >= seq {
			denied = 0
		}
		if denied >= goneTries {
			return fmt.Errorf("%w: event %d of %s; the last one is event %d", errGone, seq, filter, head)
		}
		if err := l.b.Backoff(ctx, try); err != nil {
			return err
		}
	}
}
