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

	"streamer/internal/cli"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/nats-io/nuid"
)

// Interrupt closes calls of a session.
type Interrupt struct {
	Reason string
	// Calls are the calls to close, by their id or their call. If empty, all open
	// calls are closed and the run ends.
	Calls []string
}

// Body returns the body of the input. It returns an error if the fold would
// reject it.
func (i *Interrupt) Body() ([]byte, error) {
	var body struct {
		Reason string   `json:"reason,omitempty"`
		IDs    []string `json:"tool_call_ids,omitempty"`
		Calls  []string `json:"calls,omitempty"`
	}
	body.Reason = i.Reason
	for _, name := range i.Calls {
		// No id of a provider has the form of a call.
		if _, err := events.ParseID(name); err == nil {
			body.Calls = append(body.Calls, name)
		} else {
			body.IDs = append(body.IDs, name)
		}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("interrupt: %w", err)
	}
	return data, session.Check(inputs.Interrupt, data)
}

// Publish publishes the interrupt and returns its sequence in the input log.
func (i *Interrupt) Publish(ctx context.Context, b *Broker, token string) (seq uint64, err error) {
	body, err := i.Body()
	if err != nil {
		return 0, err
	}
	id := fmt.Sprintf("%s:%s:cli-%s", token, inputs.Interrupt, nuid.Next())
	a := b.PublishWait(ctx, b.InputPub(token, inputs.Interrupt, id, nil, body))
	return a.Seq, a.Err
}

// Resume lifts what interrupts of a session stopped. It returns the sequence of the input.
func Resume(ctx context.Context, b *Broker, token, by string) (seq uint64, err error) {
	body, err := json.Marshal(map[string]string{"by": by})
	if err != nil {
		return 0, fmt.Errorf("resume: %w", err)
	}
	id := fmt.Sprintf("%s:%s:cli-%s", token, inputs.Resume, nuid.Next())
	a := b.PublishWait(ctx, b.InputPub(token, inputs.Resume, id, nil, body))
	return a.Seq, a.Err
}

// Run publishes the interrupt and waits until an event answers it, for at most the
// time limit.
func (i *Interrupt) Run(ctx context.Context, b *Broker, token string, limit time.Duration) (*InterruptResult, error) {
	_, from, err := b.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	head, _, err := b.Head(ctx, token)
	if err != nil {
		return nil, err
	}
	seq, err := i.Publish(ctx, b, token)
	if err != nil {
		return nil, err
	}
	r := &InterruptResult{seq: seq, calls: i.Calls, unknown: head == 0}
	if err := r.await(ctx, b, token, from, limit); err != nil {
		return nil, err
	}
	if r.rejected != "" {
		return nil, fmt.Errorf("input %d was rejected: %s", r.seq, r.rejected)
	}
	return r, nil
}

// InterruptResult has the events of an interrupt.
type InterruptResult struct {
	seq   uint64   // of the interrupt, as its events are numbered
	calls []string // to close; none for all

	unknown  bool           // the session had no event before
	closed   []events.Event // the results
	run      string         // that ended; "" if none
	rejected string         // why the interrupt was rejected; "" if it was not
}

// Print writes a line for each call or run that the interrupt closed.
func (r *InterruptResult) Print(w io.Writer, session string) {
	for i := range r.closed {
		c := &r.closed[i]
		fmt.Fprintf(w, "closed call %s of %s, id %s\n", c.Call, cli.Clean(cmp.Or(c.ToolName, "a tool without a name")), cli.Clean(c.ID))
	}
	if r.run != "" {
		fmt.Fprintf(w, "ended run %s\n", cli.Clean(r.run))
	}
	if len(r.closed) == 0 && r.run == "" && len(r.calls) == 0 {
		fmt.Fprintf(w, "nothing is open in session %s\n", session)
	}
	if r.unknown {
		fmt.Fprintln(w, "it had no event before: is its name right?")
	}
}

// Missing returns the named calls that were not open.
func (r *InterruptResult) Missing() (names []string) {
	for _, name := range r.calls {
		if !slices.ContainsFunc(r.closed, func(e events.Event) bool { return e.Call == name || e.ID == name || e.UID == name }) {
			names = append(names, name)
		}
	}
	return names
}

var errComplete = errors.New("the result is complete")

// await reads the session's events after sequence from until the interrupt is
// answered, for at most limit.
func (r *InterruptResult) await(ctx context.Context, b *Broker, token string, from uint64, limit time.Duration) error {
	waiting, stop := context.WithTimeout(ctx, limit)
	defer stop()
	err := b.Tail(waiting, token, from, func(e events.Record, _ bool) error { return r.take(&e) }, nil)
	switch {
	case errors.Is(err, errComplete):
		return nil
	case ctx.Err() == nil && waiting.Err() != nil:
		return fmt.Errorf("the interrupt is stored as input %d, but its outcome was not known after %s: is a streamer running on these logs? The interrupt takes effect as soon as one is", r.seq, limit)
	}
	return err
}

// take records an event of the session. It returns errComplete if no result of the
// interrupt can follow.
func (r *InterruptResult) take(s *events.Record) error {
	if s.Seq == 0 || s.ID.Seq < r.seq || s.Type == events.Synthetic { // Seq is 0 at the end of the history
		return nil
	}
	if s.ID.Seq > r.seq {
		return errComplete
	}
	var e events.Event
	if err := json.Unmarshal(s.Data, &e); err != nil {
		return fmt.Errorf("event %d: %w", s.Seq, err)
	}
	switch e.Type {
	case events.ToolCallResult:
		r.closed = append(r.closed, e)
	case events.RunFinished:
		r.run = e.Run
	case events.Rejected:
		r.rejected = e.Reason.Text
		return errComplete
	case events.Interruption:
		return errComplete
	}
	return nil
}
