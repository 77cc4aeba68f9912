package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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

// Run publishes the interrupt and waits until an event answers it, for at most the
// time limit.
func (i *Interrupt) Run(ctx context.Context, b *Broker, token string, limit time.Duration) (*Outcome, error) {
	_, from, err := b.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	seq, err := i.Publish(ctx, b, token)
	if err != nil {
		return nil, err
	}
	o := &Outcome{seq: seq, calls: i.Calls}
	if err := o.await(ctx, b, token, from, limit); err != nil {
		return nil, err
	}
	if o.rejected != "" {
		return nil, fmt.Errorf("input %d was rejected: %s", o.seq, o.rejected)
	}
	return o, nil
}
