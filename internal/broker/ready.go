package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Ready returns nil if there is a connection, every stream has a leader and
// stores what is published. The error explains what does not work.
func (b *Broker) Ready(ctx context.Context) error {
	if b.embedded != nil {
		if err := b.embedded.Problem(); err != nil {
			return err
		}
	}
	if !b.Connected() {
		return fmt.Errorf("broker: not connected to NATS: %s", strings.ToLower(b.nc.Status().String()))
	}
	for _, name := range streamNames {
		// Only a leader answers.
		var info streamInfo
		if err := b.askOnce(ctx, apiStreamInfo+name, nil, &info); err != nil {
			return fmt.Errorf("broker: stream %s does not answer: %w", name, errors.Join(err, b.pubs.outages.problem(time.Now())))
		}
		if err := info.room(); err != nil {
			return err
		}
	}
	return b.pubs.outages.problem(time.Now())
}

// leastInput is approximately the size of the smallest input. A stream without space
// for it is full, even if this process publishes nothing to it.
const leastInput = 256

// room returns an error where a stream refuses new messages because it is full.
func (i *streamInfo) room() error {
	if limit := i.Config.MaxBytes; limit > 0 && i.State.Bytes+leastInput > limit && i.Config.Name == StreamInputs {
		return fmt.Errorf("broker: %s (%d of %d bytes)", fullAdvice, i.State.Bytes, limit)
	}
	return nil
}
