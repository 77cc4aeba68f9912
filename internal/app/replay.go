package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"streamer/internal/inputs"

	"github.com/nats-io/nuid"
)

// perEvent is the time between two deltas of a recording without times at speed 1:
// models stream about 30 tokens a second.
const perEvent = 30 * time.Millisecond

// Replayer publishes recorded inputs to a session. The message ids of each
// Replayer are different: the same recording can be published again, but an
// input that is sent again after a lost acknowledgement is stored once.
type Replayer struct {
	Broker *Broker
	Token  string        // of the session
	Format string        // of the deltas; if "", it is recognised
	Speed  time.Duration // factor by which inputs are faster than recorded; 0 for no pauses

	watch *watch // of the outcome; nil for none
	nonce string
	count int
	due   time.Time     // when the last input was to be published
	at    time.Duration // of the last recorded input with a time
}

// Stream publishes a recorded stream as it arrives. A line of JSON, or an event of
// raw SSE text, is one delta; a line of a recorded session is the input that it
// states. Streams that are not text are published in the pieces that were read.
func (r *Replayer) Stream(ctx context.Context, in io.Reader) error {
	split := inputs.NewSplitter(in, inputs.MaxLine)
	for {
		p, err := split.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.piece(ctx, p, split.Binary()); err != nil {
			return fmt.Errorf("line %d: %w", p.Line, err)
		}
	}
}

// piece publishes a part of a stream.
func (r *Replayer) piece(ctx context.Context, p inputs.Piece, binary bool) error {
	if in, ok := ParseRecorded(p.Data); ok && !binary {
		return r.Recorded(ctx, in, p.Line)
	}
	return r.delta(ctx, p.Data, p.Line)
}

// delta publishes a delta, after a pause unless it is the first input.
func (r *Replayer) delta(ctx context.Context, data []byte, line int) error {
	if r.Speed > 0 {
		if r.count > 0 {
			r.due = time.Now().Add(perEvent / r.Speed)
		}
		if err := sleepUntil(ctx, r.due); err != nil {
			return err
		}
	}
	return r.input(ctx, inputs.Delta, data, line)
}

// Recorded publishes an input of a recorded session, in line n, as long after the
// input before it as recorded.
func (r *Replayer) Recorded(ctx context.Context, in Recorded, n int) error {
	if r.Speed > 0 {
		if r.count == 0 {
			r.due = time.Now()
		} else {
			r.due = r.due.Add(max(in.At-r.at, 0) / r.Speed)
		}
		if err := sleepUntil(ctx, r.due); err != nil {
			return err
		}
	}
	r.at = in.At
	return r.input(ctx, in.Kind, in.Data, n)
}

// input publishes an input and waits until it is stored.
func (r *Replayer) input(ctx context.Context, kind inputs.Kind, data []byte, line int) error {
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
	r.watch.sent(a.Seq, line)
	return nil
}

// end publishes that nothing continues an event that the last inputs cut, so that it
// is rejected before later inputs come.
func (r *Replayer) end(ctx context.Context) error {
	if r.count == 0 {
		return nil
	}
	id := fmt.Sprintf("%s:%s:replay-%s", r.Token, inputs.Clock, r.nonce)
	a := r.Broker.PublishWait(ctx, r.Broker.ClockPub(r.Token, id, []byte(`{"kind":"flush","cut":true}`)))
	if a.Err != nil {
		return fmt.Errorf("end of the stream: %w", a.Err)
	}
	r.watch.ended(a.Seq)
	return nil
}

// sleepUntil waits until a time, or until ctx ends.
func sleepUntil(ctx context.Context, t time.Time) error {
	wait := time.NewTimer(time.Until(t))
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
