package chaos

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
	"streamer/internal/client"
	"streamer/internal/events"
)

// genuine is the logs without the messages that are acknowledgements, which the
// comparison of all bytes would report.
type genuine struct {
	*client.Broker
	// forged is set if acknowledgements were stored on internal subjects.
	forged bool
	blobs  atomic.Int64 // number of large values that an acknowledgement replaced
	// last has the last event of each session, and ack the acknowledgement after
	// it, or 0.
	last, ack map[string]uint64
}

// isAck reports whether a message is the acknowledgement of an input.
func isAck(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"stream":"LLM"`)) }

// Entries skips acknowledgements. An event after an acknowledgement refers to the
// acknowledgement, and Entries replaces that by the previous event. A call with
// after above 0 continues the previous call.
func (g *genuine) Entries(ctx context.Context, token string, after uint64, fn func(eventlog.Entry) error) error {
	if after == 0 {
		g.last, g.ack = map[string]uint64{}, map[string]uint64{}
	}
	return g.Broker.Entries(ctx, token, after, func(e eventlog.Entry) error {
		if g.forged && isAck(e.Data) {
			g.ack[e.Token] = e.Seq
			return nil
		}
		if e.Prev != 0 && e.Prev == g.ack[e.Token] {
			e.Prev = g.last[e.Token]
		}
		g.last[e.Token], g.ack[e.Token] = e.Seq, 0
		return fn(e)
	})
}

// Blob returns no data and no error for a large value that an acknowledgement
// replaced, because such a value cannot be restored.
func (g *genuine) Blob(ctx context.Context, ref events.Ref) ([]byte, error) {
	data, err := g.Broker.Blob(ctx, ref)
	if g.forged && errors.Is(err, broker.ErrDamaged) {
		g.blobs.Add(1)
		return nil, nil
	}
	return data, err
}
