package broker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"streamer/internal/inputs"
)

// Witness identifies an input. Its sequence alone does not: after a power loss,
// or where the stream's files were restored, the server assigns sequences
// again. The time it stored the input at is another then.
type Witness struct {
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

// Rewind records that the input log came back shorter than what was folded of
// it. Inputs from From on were stored since; they count as inputs By further
// on, behind all that were folded before.
type Rewind struct {
	From   uint64    `json:"from"`
	By     uint64    `json:"by"`
	Before time.Time `json:"before,omitzero"` // when the last input before From was stored
}

// Rewinds are the rewinds of a partition's input log, oldest first. The zero
// value is a log that never was rewound.
type Rewinds []Rewind

// Effective returns the number under which the input stored at seq is folded:
// event ids, call names and snapshots count in these.
func (r Rewinds) Effective(seq uint64) uint64 {
	for i := len(r) - 1; i >= 0; i-- {
		if seq >= r[i].From {
			return seq + r[i].By
		}
	}
	return seq
}

// Stored returns the sequence at which the input folded as n is stored; ok is
// false where the log lost it before it was rewound.
func (r Rewinds) Stored(n uint64) (seq uint64, ok bool) {
	for i := len(r) - 1; i >= 0; i-- {
		if n >= r[i].From+r[i].By {
			return n - r[i].By, true
		}
		if n >= r.Effective(r[i].From-1)+1 {
			return 0, false
		}
	}
	return n, true
}

// Newer reports whether r has a rewind that was recorded after all of o.
func (r Rewinds) Newer(o Rewinds) bool { return r.last() > o.last() }

// last returns the number of the first input after the last rewind, 0 if there
// is none. It grows with each.
func (r Rewinds) last() uint64 {
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1].From + r[len(r)-1].By
}

// Equal reports whether both number the inputs in the same way.
func (r Rewinds) Equal(o Rewinds) bool {
	return slices.EqualFunc(r, o, func(a, b Rewind) bool { return a.From == b.From && a.By == b.By })
}

// Add returns r with a rewind after which the inputs from from on count behind
// top. before is when the last input before them was stored. Rewinds of inputs
// that are lost themselves are left out.
func (r Rewinds) Add(from, top uint64, before time.Time) Rewinds {
	var kept Rewinds
	top = max(top, r.Effective(from-1))
	for _, old := range r {
		top = max(top, old.From+old.By)
		if old.From < from {
			kept = append(kept, old)
		}
	}
	return append(kept, Rewind{From: from, By: top + 1 - min(from, top+1), Before: before})
}

// InputRewoundError says that the input log was rewound: at Seq it has another
// input than the one that was read.
type InputRewoundError struct{ Seq uint64 }

// Error says where.
func (e *InputRewoundError) Error() string {
	return fmt.Sprintf("broker: the input log was rewound: input %d is not the one that was read", e.Seq)
}

// Input reads one input by its sequence from its stream's leader; ok is false
// where it is not there.
func (b *Broker) Input(ctx context.Context, seq uint64) (in Input, ok bool, err error) {
	if seq == 0 { // the server takes 0 for no sequence at all
		return Input{}, false, nil
	}
	m, err := b.message(ctx, streamInputs, map[string]any{"seq": seq})
	if err != nil || m == nil {
		return Input{}, false, err
	}
	p, _ := partitionOf(m.Subject)
	return b.input(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data}, p), true, nil
}

// witnessed reports whether the log still has the input that was read. Of one
// that was deleted or has expired nothing else is known.
func (b *Broker) witnessed(ctx context.Context, w Witness) (bool, error) {
	which := map[string]any{"seq": w.Seq}
	m, err := b.message(ctx, streamInputs, which)
	if err == nil && m == nil {
		// It was deleted, or is beyond the end; and there one may be stored any
		// moment.
		state, failed := b.bounds(ctx, streamInputs)
		if failed != nil || w.Seq > state.Last {
			return false, failed
		}
		m, err = b.message(ctx, streamInputs, which)
	}
	if err != nil {
		return false, err
	}
	return m == nil || m.Time.Equal(w.At), nil
}

// InputAfter returns the sequence of the first input stored after t, or the
// one behind the stream's last.
func (b *Broker) InputAfter(ctx context.Context, t time.Time) (seq uint64, err error) {
	_, last, err := b.InputBounds(ctx)
	if err != nil {
		return 0, err
	}
	seq = last + 1
	err = b.waiting(ctx, reading{stream: streamInputs, headers: true, credit: 1, since: t.Add(1)}, func(m stored) error {
		seq = min(seq, m.seq)
		return errStop
	})
	return seq, err
}

// RulesInputs reads the changes of settings of a partition that are in the log.
func (b *Broker) RulesInputs(ctx context.Context, p int, fn func(*Input) error) error {
	return b.inputs(ctx, p, partitionRoot(p)+string(inputs.Rules), fn)
}

// LastRules reads the last change of settings of a partition; ok is false where
// the log has none.
func (b *Broker) LastRules(ctx context.Context, p int) (in Input, ok bool, err error) {
	m, err := b.lastMessage(ctx, streamInputs, partitionRoot(p)+string(inputs.Rules))
	if err != nil || m == nil {
		return Input{}, false, err
	}
	return b.input(stored{m.Sequence, m.Time, m.Subject, m.Header, m.Data}, p), true, nil
}

// SessionInputs reads the inputs of a session that are in the log.
func (b *Broker) SessionInputs(ctx context.Context, token string, fn func(*Input) error) error {
	p := b.Partition(token)
	return b.inputs(ctx, p, partitionRoot(p)+token+".*", fn)
}

func (b *Broker) inputs(ctx context.Context, p int, filter string, fn func(*Input) error) error {
	return b.waiting(ctx, reading{stream: streamInputs, filter: filter, credit: 512}, func(m stored) error {
		in := b.input(m, p)
		return fn(&in)
	})
}

// waiting reads what is in a stream up to its present end.
func (b *Broker) waiting(ctx context.Context, r reading, fn func(stored) error) error {
	next := uint64(1)
	if !r.since.IsZero() {
		next = 0
	}
	return b.readToEnd(ctx, r, next, fn)
}
