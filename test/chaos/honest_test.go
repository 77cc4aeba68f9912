package chaos

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"streamer/internal/app"
	"streamer/internal/broker"
	"streamer/internal/events"
)

// honest is the logs without what an acknowledgement has put there: the check
// that compares all bytes would report it, rightly.
type honest struct {
	*app.Broker
	// forged: acknowledgements were stored on internal subjects.
	forged bool
	blobs  atomic.Int64 // large values that an acknowledgement has replaced
	// By session: the last event, and the acknowledgement behind it or 0.
	last, behind map[string]uint64
}

// isAck reports whether a message is the acknowledgement of an input.
func isAck(data []byte) bool { return bytes.HasPrefix(data, []byte(`{"stream":"LLM"`)) }

// Events leaves out acknowledgements. The event behind one is linked to it. A
// reading that begins behind another goes on from that.
func (h *honest) Events(ctx context.Context, token string, after uint64, fn func(broker.Stored) error) error {
	if after == 0 {
		h.last, h.behind = map[string]uint64{}, map[string]uint64{}
	}
	return h.Broker.Events(ctx, token, after, func(s broker.Stored) error {
		if h.forged && isAck(s.Data) {
			h.behind[s.Token] = s.Seq
			return nil
		}
		if s.Prev != 0 && s.Prev == h.behind[s.Token] {
			s.Prev = h.last[s.Token]
		}
		h.last[s.Token], h.behind[s.Token] = s.Seq, 0
		return fn(s)
	})
}

// Blob takes a large value for good in whose place an acknowledgement is stored:
// it cannot be made again.
func (h *honest) Blob(ctx context.Context, ref events.Ref) ([]byte, error) {
	data, err := h.Broker.Blob(ctx, ref)
	if h.forged && errors.Is(err, broker.ErrDamaged) {
		h.blobs.Add(1)
		return nil, nil
	}
	return data, err
}
