package inputlog

import (
	"context"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

// AllInputs reads the inputs of all partitions with one consumer, in stream
// order, from sequence from (at least 1) to the present end of the log. deliver
// receives them with the sequence after the last that was read; the slice is
// reused after it returns, the inputs are not.
//
// AllInputs returns ctx's error, deliver's error, or a *LostError where inputs
// expired before they were read. Inputs that were deleted from the middle of the
// log are not delivered.
func (l *Log) AllInputs(ctx context.Context, from uint64, deliver func(batch []inputs.Input, next uint64) error) error {
	a := allReader{l: l, next: max(from, 1), deliver: deliver}
	r := broker.Reading{Stream: broker.StreamInputs, Credit: catchUpCredit, Position: a.present}
	return l.b.ReadToEnd(ctx, r, a.next, func(batch []broker.Message) error { return a.take(ctx, batch) })
}

// allReader reads the whole input log.
type allReader struct {
	l       *Log
	next    uint64 // sequence to read
	batch   []inputs.Input
	deliver func([]inputs.Input, uint64) error
}

// present checks that the log still has the inputs to be read.
func (a *allReader) present(ctx context.Context, next uint64) error {
	bounds, err := a.l.b.Bounds(ctx, broker.StreamInputs)
	switch {
	case err != nil:
		return err
	case next > bounds.Last: // the end, perhaps of an empty log
		return broker.ErrStop
	case next < bounds.First:
		return &LostError{From: next, First: bounds.First}
	}
	return nil
}

func (a *allReader) take(ctx context.Context, batch []broker.Message) error {
	if after := batch[len(batch)-1].Seq + 1; after-a.next != uint64(len(batch)) { // some are missing
		if err := a.present(ctx, a.next); err != nil {
			return err
		}
	}
	a.batch = a.batch[:0]
	for i := range batch {
		p, _ := partitionOf(batch[i].Subject)
		a.batch = append(a.batch, a.l.input(&batch[i], p))
		a.next = batch[i].Seq + 1
	}
	return a.deliver(a.batch, a.next)
}
