package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"streamer/internal/events"
	"streamer/internal/worker"
)

// Outcome is what an interrupt caused.
type Outcome struct {
	seq   uint64   // of the interrupt, as its events are numbered
	calls []string // to close; none for all

	mu       sync.Mutex     // guards the fields below
	last     events.ID      // of the last event that was read
	closed   []events.Event // the results
	run      string         // that ended; "" if none
	rejected string         // why the interrupt was rejected; "" if it was not
}

// Print writes a line for each call or run that the interrupt closed.
func (o *Outcome) Print(w io.Writer, session string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range o.closed {
		c := &o.closed[i]
		fmt.Fprintf(w, "closed call %s of %s, id %s\n", c.Call, cmp.Or(c.ToolName, "a tool without a name"), c.ID)
	}
	if o.run != "" {
		fmt.Fprintf(w, "ended run %s\n", o.run)
	}
	if len(o.closed) == 0 && o.run == "" && len(o.unclosed()) == 0 {
		fmt.Fprintf(w, "nothing is open in session %s\n", session)
	}
}

// Missing returns the named calls that were not open.
func (o *Outcome) Missing() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unclosed()
}

// unclosed returns the named calls without a result. The caller holds mu.
func (o *Outcome) unclosed() (names []string) {
	for _, name := range o.calls {
		if !slices.ContainsFunc(o.closed, func(e events.Event) bool { return e.Call == name || e.ID == name || e.UID == name }) {
			names = append(names, name)
		}
	}
	return names
}

// errComplete ends the wait for an outcome that is complete.
var errComplete = errors.New("the outcome is complete")

// await reads the session's events after sequence from until all events of the
// interrupt are read, for at most limit.
func (o *Outcome) await(ctx context.Context, b *Broker, token string, from uint64, limit time.Duration) error {
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting, stop := context.WithTimeout(waiting, limit)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { // an interrupt that closes nothing may have no event
		if o.awaitSnapshot(waiting, b, token) {
			cancel(errComplete)
		}
	})
	err := b.Tail(waiting, token, from, func(e events.Record, _ bool) error { return o.take(&e) })
	why := context.Cause(waiting)
	cancel(nil)
	wg.Wait()
	switch {
	case errors.Is(err, errComplete) || errors.Is(why, errComplete):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(why, context.DeadlineExceeded):
		return fmt.Errorf("the interrupt is stored as input %d, but its outcome was not known after %s: is a streamer running on these logs? The interrupt takes effect as soon as one is", o.seq, limit)
	}
	return err
}

// take records an event of the session. It returns errComplete if no event of
// the interrupt can follow.
func (o *Outcome) take(s *events.Record) error {
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
		return errComplete
	}
	var e events.Event
	if err := json.Unmarshal(s.Data, &e); err != nil {
		return fmt.Errorf("event %d: %w", s.Seq, err)
	}
	switch e.Type {
	case events.ToolCallResult:
		o.closed = append(o.closed, e)
		if len(o.calls) > 0 && len(o.unclosed()) == 0 {
			return errComplete
		}
	case events.RunFinished:
		o.run = e.Run
		return errComplete
	case events.Unmatched:
		return errComplete
	case events.Rejected:
		o.rejected = e.Reason.Text
		return errComplete
	}
	return nil
}

// betweenSnapshots is the time between two reads of a session's snapshot.
const betweenSnapshots = 200 * time.Millisecond

// awaitSnapshot waits until a snapshot of the session covers the interrupt and
// every event of the snapshot is read. It returns false if ctx ends.
func (o *Outcome) awaitSnapshot(ctx context.Context, b *Broker, token string) bool {
	tick := time.NewTicker(betweenSnapshots)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if last, ok := b.folded(ctx, token, o.seq); ok && o.reached(last) {
			return true
		}
	}
}

// folded reports whether a snapshot of a session covers an input, and returns the
// last event of the snapshot. After an error a later snapshot shows it.
func (b *Broker) folded(ctx context.Context, token string, seq uint64) (last events.ID, ok bool) {
	snapshot, ok, err := b.LoadSnapshot(ctx, b.Partition(token), token)
	if err != nil || !ok {
		return events.ID{}, false
	}
	f, err := worker.FoldedIn(snapshot)
	return f.Last, err == nil && f.Input >= seq
}

// reached reports whether every event up to id that can belong to the interrupt
// is read.
func (o *Outcome) reached(id events.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return id.Seq < o.seq || !id.After(o.last)
}
