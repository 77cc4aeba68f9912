package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
)

// rulesTime bounds the wait for the settings to come into force.
const rulesTime = 30 * time.Second

// awaitRules waits until rules are in force in the partition of a session: a
// worker appends its settings after it has read the log to its end.
func awaitRules(ctx context.Context, b *client.Broker, name string, rules *session.Rules) error {
	ours, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	token, err := events.Token(name)
	if err != nil {
		return err
	}
	p := b.Partition(token)
	waiting, cancel := context.WithTimeout(ctx, rulesTime)
	defer cancel()
	if err := followRules(waiting, b, p, ours); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the demo's settings did not come into force in partition %d within %s: %w", p, rulesTime, err)
	}
	return ctx.Err()
}

var errInForce = errors.New("the rules are in force")

// followRules reads the inputs of a partition from its checkpoint on, until the
// last rules are ours.
func followRules(ctx context.Context, b *client.Broker, p int, ours []byte) error {
	mark, _, err := b.LoadCheckpoint(ctx, p)
	if err != nil {
		return err
	}
	first, _, err := b.InputBounds(ctx)
	if err != nil {
		return err
	}
	last := []byte(mark.Rules)
	if len(last) == 0 {
		if last, err = json.Marshal(lifecycle.DefaultRules()); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
	}
	err = b.Inputs(ctx, p, max(mark.Seq, first), func(batch []inputs.Input, _ uint64, caughtUp bool) error {
		for _, in := range batch {
			if in.Kind == inputs.Rules {
				last = bytes.Clone(in.Data)
			}
		}
		if caughtUp && bytes.Equal(last, ours) {
			return errInForce
		}
		return nil
	})
	if errors.Is(err, errInForce) {
		return nil
	}
	return err
}
