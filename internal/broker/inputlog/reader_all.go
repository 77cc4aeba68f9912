package broker

import (
	"context"
	"errors"
)

// AllInputs reads the inputs of all partitions with one consumer, in stream
// order, from sequence from (at least 1) to the present end of the log. deliver
// gets them with the sequence up to which the log is read; the slice is used
// again after it returns, the messages are not.
//
// AllInputs returns ctx's error, deliver's, or an *InputLostError where inputs
// expired before they were read. Inputs that were deleted from the midst of the
// log are not delivered.
func (b *Broker) AllInputs(ctx context.Context, from uint64, deliver func(batch []Input, next uint64) error) error {
	a := allInputs{b: b, next: max(from, 1), deliver: deliver}
	r := reading{stream: streamInputs, credit: sweepCredit, position: a.present}
	e := end{b: b, r: r, next: a.next}
	r.idle = e.reached
	r.deliver = func(batch []stored, pending uint64) error {
		err := a.take(ctx, batch, pending)
		e.next, e.asked = a.next, false
		return err
	}
	err := b.read(ctx, r, a.next)
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// allInputs is a reader of the whole input log.
type allInputs struct {
	b       *Broker
	next    uint64 // sequence to read
	batch   []Input
	deliver func([]Input, uint64) error
}

// present checks that the log still has what is to be read.
func (a *allInputs) present(ctx context.Context, next uint64) error {
	state, err := a.b.bounds(ctx, streamInputs)
	switch {
	case err != nil:
		return err
	case next > state.Last: // the end, perhaps of an empty log
		return errStop
	case next < state.First:
		return &InputLostError{From: next, First: state.First}
	}
	return nil
}

func (a *allInputs) take(ctx context.Context, batch []stored, pending uint64) error {
	if n := len(batch); n > 0 {
		if end := batch[n-1].seq + 1; end-a.next != uint64(n) { // some are not there
			if err := a.present(ctx, a.next); err != nil {
				return err
			}
		}
	}
	a.batch = a.batch[:0]
	for _, m := range batch {
		p, _ := partitionOf(m.subject)
		a.batch = append(a.batch, a.b.input(m, p))
		a.next = m.seq + 1
	}
	if len(batch) > 0 {
		if err := a.deliver(a.batch, a.next); err != nil {
			return err
		}
	}
	if pending == 0 {
		return errStop
	}
	return nil
}
