package inputlog

import (
	"context"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

const lookupCredit = 512

// Input reads one input by its sequence from its stream's leader; ok is false if
// it is not stored.
func (l *Log) Input(ctx context.Context, seq uint64) (in inputs.Input, ok bool, err error) {
	m, err := l.b.MessageAt(ctx, broker.StreamInputs, seq)
	if err != nil || m == nil {
		return inputs.Input{}, false, err
	}
	p, _ := partitionOf(m.Subject)
	return l.input(m, p), true, nil
}

// InputBounds returns the sequences of the first and the last input. In an empty
// log first is last + 1.
func (l *Log) InputBounds(ctx context.Context) (first, last uint64, err error) {
	bounds, err := l.b.Bounds(ctx, broker.StreamInputs)
	return bounds.First, bounds.Last, err
}

// InputAfter returns the sequence of the first input stored after t, or the one
// after the log's last.
func (l *Log) InputAfter(ctx context.Context, t time.Time) (seq uint64, err error) {
	_, last, err := l.InputBounds(ctx) // before: one that is stored meanwhile is after it
	if err != nil {
		return 0, err
	}
	m, err := l.b.MessageAfter(ctx, broker.StreamInputs, "", t)
	if err != nil || m == nil {
		return last + 1, err
	}
	return m.Seq, nil
}

// NextInput reads the first input of a partition at a sequence or after it, from its
// stream's leader; ok is false if there is none.
func (l *Log) NextInput(ctx context.Context, p int, seq uint64) (in inputs.Input, ok bool, err error) {
	for {
		m, err := l.b.NextMessage(ctx, broker.StreamInputs, partitionRoot(p)+">", max(seq, 1))
		if err != nil || m == nil {
			return inputs.Input{}, false, err
		}
		if in := l.input(m, p); !in.Foreign {
			return in, true, nil
		}
		seq = m.Seq + 1
	}
}

// InputsFrom reads the inputs of a partition from a sequence on, up to the log's present
// end, in batches that are not empty.
func (l *Log) InputsFrom(ctx context.Context, p int, from uint64, headersOnly bool, deliver func([]inputs.Input) error) error {
	r := broker.Reading{Stream: broker.StreamInputs, Filter: partitionRoot(p) + ">", HeadersOnly: headersOnly}
	return l.b.ReadToEnd(ctx, r, max(from, 1), func(batch []broker.Message) error {
		ins := make([]inputs.Input, len(batch))
		for i := range batch {
			ins[i] = l.input(&batch[i], p)
		}
		return deliver(ins)
	})
}

// DeleteInput deletes an input. It is no error if there is none.
func (l *Log) DeleteInput(ctx context.Context, seq uint64) error {
	return l.b.DeleteMessage(ctx, broker.StreamInputs, seq)
}

// RulesInputs reads the changes of settings of a partition that are in the log.
func (l *Log) RulesInputs(ctx context.Context, p int, fn func(*inputs.Input) error) error {
	return l.matching(ctx, p, partitionRoot(p)+string(inputs.Rules), 1, fn)
}

// LastRules reads the last change of settings of a partition; ok is false if the
// log has none.
func (l *Log) LastRules(ctx context.Context, p int) (in inputs.Input, ok bool, err error) {
	m, err := l.b.LastMessage(ctx, broker.StreamInputs, partitionRoot(p)+string(inputs.Rules))
	if err != nil || m == nil {
		return inputs.Input{}, false, err
	}
	return l.input(m, p), true, nil
}

// SessionInputs reads the inputs of a session from sequence from on that are in the log.
// It costs one request where there are none.
func (l *Log) SessionInputs(ctx context.Context, token string, from uint64, fn func(*inputs.Input) error) error {
	p := l.b.Partition(token)
	filter := partitionRoot(p) + token + ".*"
	m, err := l.b.NextMessage(ctx, broker.StreamInputs, filter, from)
	if err != nil || m == nil {
		return err
	}
	in := l.input(m, p)
	if err := fn(&in); err != nil {
		return err
	}
	return l.matching(ctx, p, filter, m.Seq+1, fn)
}

// LastInput returns the sequence of the last input of a session, 0 if there is none, or it
// is damaged.
func (l *Log) LastInput(ctx context.Context, token string) (uint64, error) {
	m, err := l.b.LastMessage(ctx, broker.StreamInputs, partitionRoot(l.b.Partition(token))+token+".*")
	if err != nil || m == nil {
		return 0, err
	}
	return m.Seq, nil
}

func (l *Log) matching(ctx context.Context, p int, filter string, from uint64, fn func(*inputs.Input) error) error {
	r := broker.Reading{Stream: broker.StreamInputs, Filter: filter, Credit: lookupCredit}
	return l.b.ReadToEnd(ctx, r, from, broker.Each(func(m broker.Message) error {
		in := l.input(&m, p)
		return fn(&in)
	}))
}

// has reports whether the log still has an input that was read. It reports true
// of one that was deleted or has expired.
func (l *Log) has(ctx context.Context, w broker.Witness) (bool, error) {
	m, err := l.b.MessageAt(ctx, broker.StreamInputs, w.Seq)
	if err == nil && m == nil {
		// It was deleted, or is beyond the end, where an input can be stored at
		// any moment.
		bounds, failed := l.b.Bounds(ctx, broker.StreamInputs)
		if failed != nil || w.Seq > bounds.Last {
			return false, failed
		}
		m, err = l.b.MessageAt(ctx, broker.StreamInputs, w.Seq)
	}
	if err != nil {
		return false, err
	}
	return m == nil || m.At.Equal(w.At), nil
}

// AllInputs reads the inputs of all partitions with one consumer, in stream
// order, from sequence from (at least 1) to the present end of the log. deliver
// receives them with the sequence after the last that was read; the slice is
// reused after it returns, the inputs are not.
//
// AllInputs returns ctx's error, deliver's error, or a *LostError where inputs
// expired before they were read. Inputs that were deleted from the middle of the
// log are not delivered.
func (l *Log) AllInputs(ctx context.Context, from uint64, deliver func(batch []inputs.Input, next uint64) error) error {
	next := max(from, 1)
	var ins []inputs.Input
	r := broker.Reading{Stream: broker.StreamInputs, Credit: catchUpCredit, Position: l.present}
	return l.b.ReadToEnd(ctx, r, next, func(batch []broker.Message) error {
		if after := batch[len(batch)-1].Seq + 1; after-next != uint64(len(batch)) { // some are missing
			if err := l.present(ctx, next); err != nil {
				return err
			}
		}
		ins = ins[:0]
		for i := range batch {
			p, _ := partitionOf(batch[i].Subject)
			ins = append(ins, l.input(&batch[i], p))
			next = batch[i].Seq + 1
		}
		return deliver(ins, next)
	})
}

func (l *Log) present(ctx context.Context, next uint64) error {
	bounds, err := l.b.Bounds(ctx, broker.StreamInputs)
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
