//go:build unix

package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"streamer/internal/broker"
	"streamer/internal/client"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// eraseSome erases some sessions of publishAll, each until that succeeds, and closes the
// channel then. Nothing of them is left that is older than the erasure.
func eraseSome(t *testing.T, b *client.Broker) <-chan struct{} {
	var wg sync.WaitGroup
	for _, token := range []string{"quirk-1", "quirk-20", "quirk-40", "large"} {
		wg.Go(func() {
			testkit.Until(t, "session "+token+" is erased", func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				_, err := b.Erase(ctx, token)
				if left := remains(t.Context(), b, token); left != nil || ctx.Err() == nil { // large values may be deleted later
					return errors.Join(err, left)
				}
				return nil
			})
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	return done
}

// remains returns an error if a session has an input or an event before its erasure.
func remains(ctx context.Context, b *client.Broker, token string) error {
	err := b.SessionInputs(ctx, token, 0, func(in *inputs.Input) error {
		if in.Kind != inputs.Erase {
			return fmt.Errorf("input %d is a %s", in.Seq, in.Kind)
		}
		return broker.ErrStop
	})
	if err != nil && err != broker.ErrStop { //nolint:errorlint // it is returned as it is
		return err
	}
	first, err := b.FirstEvent(ctx, token)
	if err == nil && first.Type != events.SessionErased {
		err = fmt.Errorf("event %s is a %s", first.ID, first.Type)
	}
	return err
}
