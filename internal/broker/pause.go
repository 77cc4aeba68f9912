package broker

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// keyPaused is the key, among the checkpoints, of whether new sessions are refused.
const keyPaused = rootCheckpoints + "paused"

// SetPaused states whether new sessions are refused.
func (b *Broker) SetPaused(ctx context.Context, paused bool) error {
	rev := uint64(0)
	m, err := b.LastMessage(ctx, streamCheckpoints, keyPaused)
	if err != nil {
		return err
	}
	if m != nil {
		rev = m.Seq
	}
	header := nats.Header{HeaderPrev: {strconv.FormatUint(rev, 10)}} // which also says that it is ours
	a := b.PublishWait(ctx, &Pub{Subject: keyPaused, Header: header, Data: strconv.AppendBool(nil, paused)})
	if errors.Is(a.Err, ErrConflict) { // with another process, or with a try whose ack was lost
		if is, err := b.Paused(ctx); err == nil && is == paused {
			return nil
		}
	}
	if a.Err != nil {
		return fmt.Errorf("broker: storing the pause: %w", a.Err)
	}
	return nil
}

// Paused reports whether new sessions are refused.
func (b *Broker) Paused(ctx context.Context) (bool, error) {
	m, err := b.LastMessage(ctx, streamCheckpoints, keyPaused)
	if err != nil || m == nil || !own(m.Header, ownCheckpoint) {
		return false, err
	}
	return string(m.Data) == "true", nil
}
