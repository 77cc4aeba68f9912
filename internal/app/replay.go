package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"streamer/internal/inputs"

	"github.com/nats-io/nuid"
)

// Replayer publishes recorded inputs to a session. The message ids of each
// Replayer are different: the same recording can be published again, but an
// input that is sent again after a lost acknowledgement is stored once.
type Replayer struct {
	Broker *Broker
	Token  string        // of the session
	Format string        // of the deltas; if "", it is recognised
	Pause  time.Duration // between two deltas

	nonce string
	count int
}

// Count returns the number of inputs that were published.
func (r *Replayer) Count() int { return r.count }

// Stream publishes a recorded stream: a line of JSON, or an event of raw SSE
// text, is one delta.
func (r *Replayer) Stream(ctx context.Context, in io.Reader) error {
	lines := NewLines(in)
	var sse []byte // an incomplete SSE event
	for {
		line, err := lines.Next()
		text := bytes.TrimSpace(line)
		switch {
		case len(text) > 0 && len(sse) == 0 && (text[0] == '{' || text[0] == '['):
			if err := r.delta(ctx, line); err != nil {
				return err
			}
		case len(text) > 0:
			sse = append(sse, line...)
		case len(sse) > 0:
			if err := r.delta(ctx, append(sse, '\n')); err != nil {
				return err
			}
			sse = nil
		}
		if errors.Is(err, io.EOF) {
			if len(sse) > 0 {
				return r.delta(ctx, append(sse, '\n', '\n'))
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// delta publishes a delta, after the pause unless it is the first input.
func (r *Replayer) delta(ctx context.Context, data []byte) error {
	if r.count > 0 && r.Pause > 0 {
		select {
		case <-time.After(r.Pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return r.Input(ctx, inputs.Delta, data)
}

// Input publishes one input and waits until it is stored.
func (r *Replayer) Input(ctx context.Context, kind inputs.Kind, data []byte) error {
	if r.nonce == "" {
		r.nonce = nuid.Next()
	}
	r.count++
	var header inputs.Header
	if r.Format != "" {
		header = inputs.Header{inputs.HeaderFormat: {r.Format}}
	}
	id := fmt.Sprintf("%s:%s:replay-%s-%d", r.Token, kind, r.nonce, r.count)
	a := r.Broker.PublishWait(ctx, r.Broker.InputPub(r.Token, kind, id, header, data))
	if a.Err != nil {
		return fmt.Errorf("input %d: %w", r.count, a.Err)
	}
	return nil
}
