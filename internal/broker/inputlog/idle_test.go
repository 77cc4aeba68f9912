package inputlog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/brokertest"
	"streamer/internal/inputs"
	"streamer/internal/natsserver"
)

// A reader of an idle partition receives the position that the others moved.
func TestLivePositionOfAnIdlePartition(t *testing.T) {
	inBubble(t, broker.Options{Partitions: 2}, func(t *testing.T, b testLog) {
		idle := 1 - b.Partition("s0")
		var positions []uint64
		err := b.Inputs(context.Background(), idle, 1, func(batch []inputs.Input, next uint64, caughtUp bool) error {
			positions = append(positions, next)
			switch {
			case len(batch) > 0 || !caughtUp:
				t.Errorf("got %d inputs, caught up %v", len(batch), caughtUp)
			case next == 1:
				fill(t, b, 10, 1, nil)
			case next == 11:
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) || len(positions) != 2 {
			t.Errorf("positions %v, %v, want 1, then 11", positions, err)
		}
	})
}

// An hour without inputs does not end a reader.
func TestLongSilence(t *testing.T) {
	t.Parallel()
	inBubble(t, broker.Options{}, func(t *testing.T, b testLog) {
		p := b.Partition("s")
		var at time.Time
		began := time.Now()
		timer := time.AfterFunc(time.Hour, func() { b.Publish(b.InputPub("s", inputs.End, "1", nil, nil), make(chan broker.Ack, 1)) })
		defer timer.Stop()
		err := b.Inputs(context.Background(), p, 1, func(batch []inputs.Input, _ uint64, _ bool) error {
			if len(batch) == 0 {
				return nil
			}
			at = batch[0].At
			return errEnough
		})
		if !errors.Is(err, errEnough) || at.Sub(began) < time.Hour || at.Sub(began) > time.Hour+time.Second {
			t.Errorf("got %v after %v, want an hour", err, at.Sub(began))
		}
	})
}

// inBubble runs a test in fake time against a real embedded server.
func inBubble(t *testing.T, opts broker.Options, test func(t *testing.T, b testLog)) {
	opts.Embed = brokertest.Embed(natsserver.Config{DataDir: t.TempDir()})
	opts.Storage = "memory" // on disk, hours of fake time would be thousands of syncs
	synctest.Test(t, func(t *testing.T) {
		b, err := broker.Open(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		test(t, testLog{b, New(b)})
	})
}
