package worker

import (
	"context"
	"errors"
	"fmt"

	"streamer/internal/broker"
	"streamer/internal/broker/inputlog"
	"streamer/internal/events"
	"streamer/internal/inputs"
)

// inputPosition is how far the input log is read.
type inputPosition struct {
	pos      uint64         // every input below it was folded, or waits for its session
	last     broker.Witness // the last input that was read
	at       events.Time    // the latest timestamp of those
	caughtUp bool           // the log is read to its end
}

// batch is some inputs on their way to the owner. The owner sends to done when it
// has taken them, unless done is nil.
type batch struct {
	inputs   []inputs.Input
	next     uint64
	caughtUp bool
	done     chan struct{}
}

// inputReader brings the inputs of a partition to its owner, in a goroutine of its
// own.
type inputReader struct {
	log interface {
		Inputs
		Checkpoints
	}
	partition int
	batches   chan batch
}

// run delivers inputs from a position on until ctx ends or an error.
func (r inputReader) run(ctx context.Context, from uint64) error {
	err := r.log.Inputs(ctx, r.partition, from, r.deliver(ctx))
	lost := (*inputlog.LostError)(nil)
	if !errors.As(err, &lost) {
		return fmt.Errorf("worker: reading inputs of partition %d: %w", r.partition, err)
	}
	// Inputs are lost only where the stored checkpoint shows it: another owner may
	// have moved it.
	m, _, failed := r.log.LoadCheckpoint(ctx, r.partition)
	if failed != nil || m.Seq >= lost.First {
		return fmt.Errorf("worker: fell behind the input log, start again from the checkpoint: %w", errors.Join(err, failed))
	}
	return fmt.Errorf("%w: partition %d: %w", ErrLost, r.partition, err)
}

// deliver returns the function that brings batches to the owner.
func (r inputReader) deliver(ctx context.Context) func([]inputs.Input, uint64, bool) error {
	done := make(chan struct{}, 1)
	return func(in []inputs.Input, next uint64, caughtUp bool) error {
		select {
		case r.batches <- batch{in, next, caughtUp, done}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
