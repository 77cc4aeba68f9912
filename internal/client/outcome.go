package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"streamer/internal/events"
)

// Outcome is what an interrupt caused.
type Outcome struct {
	seq   uint64   // of the interrupt, as its events are numbered
	calls []string // to close; none for all

	closed   []events.Event // the results
	run      string         // that ended; "" if none
	rejected string         // why the interrupt was rejected; "" if it was not
}

// Print writes a line for each call or run that the interrupt closed.
func (o *Outcome) Print(w io.Writer, session string) {
	for i := range o.closed {
		c := &o.closed[i]
		fmt.Fprintf(w, "closed call %s of %s, id %s\n", c.Call, cmp.Or(c.ToolName, "a tool without a name"), c.ID)
	}
	if o.run != "" {
		fmt.Fprintf(w, "ended run %s\n", o.run)
	}
	if len(o.closed) == 0 && o.run == "" && len(o.calls) == 0 {
		fmt.Fprintf(w, "nothing is open in session %s\n", session)
	}
}

// Missing returns the named calls that were not open.
func (o *Outcome) Missing() (names []string) {
	for _, name := range o.calls {
		if !slices.ContainsFunc(o.closed, func(e events.Event) bool { return e.Call == name || e.ID == name || e.UID == name }) {
			names = append(names, name)
		}
	}
	return names
}

// errComplete ends the wait for an outcome that is complete.
var errComplete = errors.New("the outcome is complete")

// await reads the session's events after sequence from until the interrupt is
// answered, for at most limit.
func (o *Outcome) await(ctx context.Context, b *Broker, token string, from uint64, limit time.Duration) error {
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	err := b.Tail(waiting, token, from, func(e events.Record, _ bool) error { return o.take(&e) })
	switch {
	case errors.Is(err, errComplete):
		return nil
	case ctx.Err() == nil && waiting.Err() != nil:
		return fmt.Errorf("the interrupt is stored as input %d, but its outcome was not known after %s: is a streamer running on these logs? The interrupt takes effect as soon as one is", o.seq, limit)
	}
	return err
}

// take records an event of the session. It returns errComplete if no result of the
// interrupt can follow.
func (o *Outcome) take(s *events.Record) error {
	if s.Seq == 0 || s.ID.Seq < o.seq || s.Type == events.Synthetic { // Seq is 0 at the end of the history
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
	case events.RunFinished:
		o.run = e.Run
	case events.Rejected:
		o.rejected = e.Reason.Text
		return errComplete
	case events.Interruption:
		return errComplete
	}
	return nil
}
