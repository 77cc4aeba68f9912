package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/worker"
)

// outcome is what an interrupt caused, as far as the event log has it.
type outcome struct {
	seq   uint64   // of the interrupt in the input log
	names []string // of the calls it closes; none for all

	mu       sync.Mutex // guards what follows
	last     events.ID  // of the last event that was read
	closed   []events.Event
	run      string // that was ended
	rejected string // why the interrupt was
}

func newOutcome(seq uint64, names []string) *outcome { return &outcome{seq: seq, names: names} }

// errSettled ends the wait for an outcome that is complete.
var errSettled = errors.New("the outcome is complete")

// await reads the session's events after position from until all that the
// interrupt caused is read, for at most limit.
func (o *outcome) await(ctx context.Context, b *broker.Broker, token string, from uint64, limit time.Duration) error {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting, stop := context.WithTimeout(waiting, limit)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { // an interrupt that closes nothing may have no event
		if o.awaitSnapshot(waiting, b, token) {
			cancel(errSettled)
		}
	})
	err := b.Tail(waiting, token, from, func(e broker.Stored, _ bool) error { return o.take(&e) })
	why := context.Cause(waiting)
	cancel(nil)
	wg.Wait()
	switch {
	case errors.Is(err, errSettled) || errors.Is(why, errSettled):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(why, context.DeadlineExceeded):
		return fmt.Errorf("the interrupt is stored as input %d, and what it closed was not known after %s: does a streamer serve these logs? It takes effect as soon as one does", o.seq, limit)
	}
	return err
}

// take takes over an event of the session. It returns errSettled where no other
// event of the interrupt follows.
func (o *outcome) take(s *broker.Stored) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.Seq == 0 { // the end of the history
		return nil
	}
	o.last = s.ID
	if s.ID.Seq < o.seq || s.Type == events.Synthetic && s.ID.Seq == o.seq {
		return nil
	}
	if s.ID.Seq > o.seq {
		return errSettled
	}
	var e events.Event
	if err := json.Unmarshal(s.Data, &e); err != nil {
		return fmt.Errorf("event %d: %w", s.Seq, err)
	}
	switch e.Type {
	case events.ToolCallResult:
		o.closed = append(o.closed, e)
		if len(o.names) > 0 && len(o.unclosed()) == 0 {
			return errSettled
		}
	case events.RunFinished:
		o.run = e.Run
		return errSettled
	case events.Unmatched:
		return errSettled
	case events.Rejected:
		o.rejected = e.Reason.Text
		return errSettled
	}
	return nil
}

// missing returns the names of calls that were not open.
func (o *outcome) missing() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unclosed()
}

// unclosed returns the names of which no call was closed; mu is held.
func (o *outcome) unclosed() (names []string) {
	for _, name := range o.names {
		if !slices.ContainsFunc(o.closed, func(e events.Event) bool { return e.Call == name || e.ID == name || e.UID == name }) {
			names = append(names, name)
		}
	}
	return names
}

// betweenSnapshots is the time between two looks at a session's snapshot.
const betweenSnapshots = 200 * time.Millisecond

// awaitSnapshot waits until a snapshot of the session covers the interrupt and
// every event of the snapshot is read. It returns false where ctx ends.
func (o *outcome) awaitSnapshot(ctx context.Context, b *broker.Broker, token string) bool {
	tick := time.NewTicker(betweenSnapshots)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		// Without an answer the events decide, or the next look does.
		snapshot, ok, err := b.LoadState(ctx, b.Partition(token), token)
		if err != nil || !ok {
			continue
		}
		f, err := worker.FoldedIn(snapshot)
		if err == nil && f.Input >= o.seq && o.reached(f.Last) {
			return true
		}
	}
}

// reached reports whether every event up to id that may be the interrupt's is
// read.
func (o *outcome) reached(id events.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return id.Seq < o.seq || !id.After(o.last)
}
