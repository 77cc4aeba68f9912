package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
)

// ruledTime bounds the wait for the settings to come into force.
const ruledTime = 30 * time.Second

// ruledBy waits until the log says that rules are in force where a session is:
// a worker asks for its settings once it has read the log to its end.
func ruledBy(ctx context.Context, b *broker.Broker, name string, rules *session.Rules) error {
	ours, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	token, err := events.Token(name)
	if err != nil {
		return err
	}
	p := b.Partition(token)
	waiting, cancel := context.WithTimeout(ctx, ruledTime)
	defer cancel()
	if err := followRules(waiting, b, p, ours); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the demo's settings did not come into force in partition %d within %s: %w", p, ruledTime, err)
	}
	return ctx.Err()
}

var errRuled = errors.New("the rules are in force")

// followRules reads the inputs of a partition from its mark on, until the last
// rules there are ours.
func followRules(ctx context.Context, b *broker.Broker, p int, ours []byte) error {
	mark, _, err := b.LoadMark(ctx, p)
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
	err = b.Inputs(ctx, p, max(mark.Seq, first), func(batch []broker.Input, _ uint64, caughtUp bool) error {
		for _, in := range batch {
			if in.Kind == inputs.Rules {
				last = bytes.Clone(in.Data)
			}
		}
		if caughtUp && bytes.Equal(last, ours) {
			return errRuled
		}
		return nil
	})
	if errors.Is(err, errRuled) {
		return nil
	}
	return err
}
