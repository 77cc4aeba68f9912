package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// InputLostError says that inputs from From on are no longer in the stream,
// whose first is First.
type InputLostError struct {
	From, First uint64
}

// Error says what is lost.
func (e *InputLostError) Error() string {
	return fmt.Sprintf("broker: inputs from %d on are wanted, but the stream begins at %d", e.From, e.First)
}

// InputAheadError says that From is beyond the stream's end, Last: the stream
// has lost its end, as a power failure can do.
type InputAheadError struct {
	From, Last uint64
}

// Error says what is missing.
func (e *InputAheadError) Error() string {
	return fmt.Sprintf("broker: inputs from %d on are wanted, but the stream ends at %d: its end was lost", e.From, e.Last)
}

// InputBounds gives the sequences of the first and the last input. In an
// empty stream first is last + 1.
func (b *Broker) InputBounds(ctx context.Context) (first, last uint64, err error) {
	state, err := b.bounds(ctx, streamInputs)
	return state.First, state.Last, err
}

// InputPosition gives where a partition stands of which every input below next
// has been delivered: further on, where only other partitions have anything
// there. It returns an *InputLostError as Inputs does.
func (b *Broker) InputPosition(ctx context.Context, partition int, next uint64) (uint64, error) {
	r := &inputReader{b: b, partition: partition, last: next - 1, next: next}
	_, err := r.advance(ctx)
	return r.next, err
}

// saw notes an input below the position.
func (r *inputReader) saw(w Witness) {
	if w.Seq > r.read.Seq {
		r.read = w
	}
}

// position checks that the stream still has what was read and what is to be
// read next. A stale answer that the stream ends earlier is given some time.
func (r *inputReader) position(ctx context.Context, _ uint64) error {
	for try := 0; ; try++ {
		err := r.rewound(ctx)
		if err == nil {
			_, err = r.advance(ctx)
		}
		_, ahead := errors.AsType[*InputAheadError](err)
		_, rewound := errors.AsType[*InputRewoundError](err)
		if !ahead && !rewound || try == 5 {
			return err
		}
		if err := r.b.again.pause(ctx, backoff(try)); err != nil {
			return err
		}
	}
}

// rewound returns an *InputRewoundError where the stream has another input than
// the one that was read.
func (r *inputReader) rewound(ctx context.Context) error {
	if r.read.Seq == 0 {
		return nil
	}
	same, err := r.b.witnessed(ctx, r.read)
	if err == nil && !same {
		return &InputRewoundError{Seq: r.read.Seq}
	}
	return err
}

// idle tells where the position is, where other partitions have moved it, and
// that nothing is waiting, where what was waiting has been deleted.
func (r *inputReader) idle(ctx context.Context) error {
	before := r.next
	clear, err := r.advance(ctx)
	if ahead := (*InputAheadError)(nil); errors.As(err, &ahead) {
		return nil // a stale answer; else the consumer is lost as well
	}
	if err != nil || !clear || r.next == before && r.caughtUp {
		return err
	}
	return r.take(nil, r.next, true)
}

// look is where the stream ended at a moment, when the partition had been read
// up to an input.
type look struct {
	at         time.Time
	read, last uint64
	stored     time.Time // when last was
}

// staleLeader is longer than a server that was cut off from the others answers
// as if it still led them.
const staleLeader = 5 * time.Second

// advance moves the position behind the stream's end where nothing of this
// partition is waiting before it; then it is clear. All is asked of the stream's
// leader: the consumer may live with a replica that lags behind. Where there are
// replicas, one who led them earlier may say that nothing is waiting: so the
// position moves only to where the stream ended so long before that he led it
// then.
func (r *inputReader) advance(ctx context.Context) (clear bool, err error) {
	now := look{at: time.Now(), read: r.last}
	state, err := r.b.bounds(ctx, streamInputs)
	first, last := state.First, state.Last
	switch {
	case err != nil:
		return false, err
	case r.next < first:
		return false, &InputLostError{From: r.next, First: first}
	case r.next > last+1:
		return false, &InputAheadError{From: r.next, Last: last}
	case r.next == last+1:
		r.fresh = now.at
		return true, nil
	}
	m, err := r.b.lastMessage(ctx, streamInputs, cmp.Or(r.filter(), ">"))
	if err != nil || m != nil && m.Sequence > r.last {
		return false, err
	}
	now.last, now.stored = last, state.LastAt
	to := now
	if r.b.replicated {
		if r.looked.read == r.last && now.at.Sub(r.looked.at) < staleLeader {
			return false, nil
		}
		to, r.looked = r.looked, now
		if to.at.IsZero() || to.read != r.last {
			return false, nil
		}
	}
	r.next, r.fresh = max(r.next, to.last+1), to.at
	r.saw(Witness{to.last, to.stored})
	return true, nil
}

// What expires is asked for before it is that old, since clocks differ; and an
// input that is nearly that old may be the first that a consumer's replica still
// has, though the stream's leader has more.
const (
	expiryMargin = 10 * time.Minute
	expiryEdge   = 10 * time.Second
)

// old tells whether what was stored at a moment has expired, or will within a
// margin.
func (b *Broker) old(at time.Time, margin time.Duration) bool {
	return b.inputAge > 0 && time.Since(at) > b.inputAge-min(b.inputAge/2, margin)
}

// intact tells whether none has expired of the inputs between those that were
// delivered and those that came: a consumer passes over them in silence. It
// gives errMissed where only the consumer's replica lacks some.
func (r *inputReader) intact(ctx context.Context, batch []stored) error {
	if !r.b.old(r.fresh, expiryMargin) {
		return nil
	}
	next := r.next
	for len(batch) > 0 && batch[0].seq == next {
		next, batch = next+1, batch[1:]
	}
	if len(batch) == 0 {
		return nil
	}
	m, err := r.b.message(ctx, streamInputs, map[string]any{"seq": next, "next_by_subj": cmp.Or(r.filter(), ">")})
	if err != nil {
		return err
	}
	state, err := r.b.bounds(ctx, streamInputs)
	switch {
	case err != nil:
		return err
	case next < state.First:
		return &InputLostError{From: next, First: state.First}
	case m != nil && m.Sequence < batch[0].seq:
		return errMissed
	}
	return nil
}
