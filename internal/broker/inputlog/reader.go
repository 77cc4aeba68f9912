package inputlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"streamer/internal/broker"
	"streamer/internal/inputs"
)

// Inputs reads the inputs of a partition in stream order, without gap or
// duplicate, from sequence from (at least 1) on, without end, through restarts
// of the server.
//
// deliver receives the inputs that have arrived, at most 500, without delay; the
// slice is reused after it returns, the inputs are not. next is a position: every
// input of this partition below it has been delivered. It can be ahead of the
// last input, because other partitions share the stream, and moves on from time
// to time (with an empty batch) while the partition is idle. caughtUp reports
// that nothing more was waiting at the server after this batch; where the stream
// has nothing to read at the start, an empty batch reports it.
//
// Inputs returns ctx's error, deliver's error, a *LostError where the position is
// below the stream's first message, an *AheadError where it is above its last, or
// a *RewoundError where the stream has other inputs than were delivered.
func (l *Log) Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []inputs.Input, next uint64, caughtUp bool) error) error {
	l.catchUp.readers.Add(1)
	defer l.catchUp.readers.Add(-1)
	ctx, stop := context.WithCancel(ctx)
	r := &reader{l: l, partition: partition, last: max(from, 1) - 1, next: max(from, 1), deliver: deliver}
	defer r.runs.Wait()
	defer stop()
	alone := broker.Reading{
		Stream:   broker.StreamInputs,
		Filter:   r.filter(),
		Position: r.position,
		Deliver:  func(batch []broker.Message, pending uint64) error { return r.alone(ctx, batch, pending) },
		Idle:     r.idle,
	}
	for {
		err := l.b.Read(ctx, alone, r.next)
		switch {
		case errors.Is(err, errJoined):
			err = r.follow(ctx)
		case errors.Is(err, errMissed):
			err = l.b.Pause(ctx, missedPause)
		}
		if err != nil {
			return err
		}
	}
}

// reader keeps the position of a partition in the stream that all partitions
// share.
type reader struct {
	l         *Log
	partition int
	last      uint64    // every input of the partition up to it is delivered
	next      uint64    // the position; at least last + 1
	fresh     time.Time // the next input was stored later than this; zero if not known
	caughtUp  bool      // as delivered last
	looked    look
	read      broker.Witness // the last input known below next, of any partition
	batch     []inputs.Input
	deliver   func([]inputs.Input, uint64, bool) error
	member    *member        // of the run that it joined last
	runs      sync.WaitGroup // those that began here
}

// errMissed ends a consumer whose replica lacks messages of the stream.
var errMissed = errors.New("inputlog: a replica lacks inputs")

// missedPause is the pause before the next consumer, which may be placed on
// another replica. By then that one has the inputs, or no server has them.
const missedPause = 250 * time.Millisecond

var errJoined = errors.New("inputlog: a partition joined a run")

// filter returns the filter of the partition's consumer. It is "" where there is
// one partition: a filter that matches everything is ten times slower than none.
func (r *reader) filter() string {
	if r.l.b.Partitions() == 1 {
		return ""
	}
	return partitionRoot(r.partition) + ">"
}

func (r *reader) alone(ctx context.Context, batch []broker.Message, pending uint64) error {
	if len(batch) > 0 {
		if err := r.intact(ctx, batch); err != nil {
			return err
		}
	}
	if len(batch) > 0 || pending == 0 {
		if err := r.take(batch, r.next, pending == 0); err != nil {
			return err
		}
	}
	if r.member = r.l.catchUp.join(ctx, r, pending); r.member != nil {
		return errJoined
	}
	return nil
}

func (r *reader) take(batch []broker.Message, next uint64, caughtUp bool) error {
	r.batch = r.batch[:0]
	for i := range batch {
		if batch[i].Seq >= r.next {
			r.batch = append(r.batch, r.l.input(&batch[i], r.partition))
		}
	}
	if n := len(r.batch); n > 0 {
		r.last, r.fresh = r.batch[n-1].Seq, r.batch[n-1].At
		r.saw(broker.Witness{Seq: r.last, At: r.fresh})
	}
	r.next, r.caughtUp = max(r.next, r.last+1, next), caughtUp
	return r.deliver(r.batch, r.next, caughtUp)
}

func (r *reader) follow(ctx context.Context) error {
	for {
		select {
		case p, ok := <-r.member.parts:
			if !ok {
				return nil
			}
			if p.next <= r.next { // the run began further back
				continue
			}
			r.saw(p.read)
			if err := r.take(p.batch, p.next, false); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// LostError reports that inputs from From on are no longer in the log, whose
// first input is First.
type LostError struct {
	From, First uint64
}

// Error returns the text with both sequences.
func (e *LostError) Error() string {
	return fmt.Sprintf("inputlog: inputs from %d on are wanted, but the log begins at %d", e.From, e.First)
}

// AheadError reports that From is beyond the log's last input, Last: the log has
// lost its end, as a power failure can do.
type AheadError struct {
	From, Last uint64
}

// Error returns the text with both sequences.
func (e *AheadError) Error() string {
	return fmt.Sprintf("inputlog: inputs from %d on are wanted, but the log ends at %d: its end was lost", e.From, e.Last)
}

// InputPosition returns the position of a partition of which every input below
// next has been delivered. It is further on where only other partitions have
// inputs there. It returns a *LostError as Inputs does.
func (l *Log) InputPosition(ctx context.Context, partition int, next uint64) (uint64, error) {
	r := &reader{l: l, partition: partition, last: next - 1, next: next}
	_, err := r.advance(ctx)
	return r.next, err
}

func (r *reader) saw(w broker.Witness) {
	if w.Seq > r.read.Seq {
		r.read = w
	}
}

// positionTries is the number of answers that must agree that the log lost its
// end: an outdated leader can report an earlier end.
const positionTries = 6

// position checks that the log still has the input that was read last and the
// one to be read next.
func (r *reader) position(ctx context.Context, _ uint64) error {
	for try := 0; ; try++ {
		err := r.rewound(ctx)
		if err == nil {
			_, err = r.advance(ctx)
		}
		_, ahead := errors.AsType[*AheadError](err)
		_, rewound := errors.AsType[*RewoundError](err)
		if !ahead && !rewound || try == positionTries-1 {
			return err
		}
		if err := r.l.b.Backoff(ctx, try); err != nil {
			return err
		}
	}
}

// RewoundError reports that the input log was rewound: at Seq it has another
// input than the one that was read.
type RewoundError struct{ Seq uint64 }

// Error returns the text with the sequence.
func (e *RewoundError) Error() string {
	return fmt.Sprintf("inputlog: the log was rewound: input %d is not the one that was read", e.Seq)
}

func (r *reader) rewound(ctx context.Context) error {
	if r.read.Seq == 0 {
		return nil
	}
	same, err := r.l.has(ctx, r.read)
	if err == nil && !same {
		return &RewoundError{Seq: r.read.Seq}
	}
	return err
}

// idle delivers an empty batch where the position moved because of other
// partitions, or where the inputs that were waiting have been deleted.
func (r *reader) idle(ctx context.Context) error {
	before := r.next
	clear, err := r.advance(ctx)
	if ahead := (*AheadError)(nil); errors.As(err, &ahead) {
		return nil // an outdated answer; else the consumer is lost as well
	}
	if err != nil || !clear || r.next == before && r.caughtUp {
		return err
	}
	return r.take(nil, r.next, true)
}

// look is the end of the stream at a moment when the partition had been read up
// to an input.
type look struct {
	at         time.Time
	read, last uint64
	stored     time.Time // when last was stored
}

// advance moves the position after the stream's end where no input of this
// partition is waiting before it; clear reports that. The stream's leader answers
// all requests: the consumer may be on a replica that lags behind. Where there
// are replicas, a former leader may answer that nothing is waiting. So the
// position moves only to where the stream ended so long before that it still was
// the leader then.
func (r *reader) advance(ctx context.Context) (clear bool, err error) {
	now := look{at: time.Now(), read: r.last}
	bounds, err := r.l.b.Bounds(ctx, broker.StreamInputs)
	first, last := bounds.First, bounds.Last
	switch {
	case err != nil:
		return false, err
	case r.next < first:
		return false, &LostError{From: r.next, First: first}
	case r.next > last+1:
		return false, &AheadError{From: r.next, Last: last}
	case r.next == last+1:
		r.fresh = now.at
		return true, nil
	}
	m, err := r.l.b.LastMessage(ctx, broker.StreamInputs, cmp.Or(r.filter(), ">"))
	if err != nil || m != nil && m.Seq > r.last {
		return false, err
	}
	now.last, now.stored = last, bounds.LastAt
	to := now
	if r.l.replicated {
		if r.looked.read == r.last && now.at.Sub(r.looked.at) < broker.StaleTime {
			return false, nil
		}
		to, r.looked = r.looked, now
		if to.at.IsZero() || to.read != r.last {
			return false, nil
		}
	}
	r.next, r.fresh = max(r.next, to.last+1), to.at
	r.saw(broker.Witness{Seq: to.last, At: to.stored})
	return true, nil
}

// Margins of the retention. An input counts as expired before it is that old,
// since clocks differ. An input that is nearly that old may be the first that a
// consumer's replica still has, although the stream's leader has earlier ones.
const (
	expiryMargin = 10 * time.Minute
	expiryEdge   = 10 * time.Second
)

// expired reports whether an input that was stored at a moment has expired, or
// will within a margin.
func (l *Log) expired(at time.Time, margin time.Duration) bool {
	return l.age > 0 && time.Since(at) > l.age-min(l.age/2, margin)
}

// intact checks that no input has expired between those that were delivered and
// a batch: a consumer skips expired inputs without an error. It returns errMissed
// where only the consumer's replica lacks some.
func (r *reader) intact(ctx context.Context, batch []broker.Message) error {
	if !r.l.expired(r.fresh, expiryMargin) {
		return nil
	}
	next := r.next
	for len(batch) > 0 && batch[0].Seq == next {
		next, batch = next+1, batch[1:]
	}
	if len(batch) == 0 {
		return nil
	}
	m, err := r.l.b.NextMessage(ctx, broker.StreamInputs, r.filter(), next)
	if err != nil {
		return err
	}
	bounds, err := r.l.b.Bounds(ctx, broker.StreamInputs)
	switch {
	case err != nil:
		return err
	case next < bounds.First:
		return &LostError{From: next, First: bounds.First}
	case m != nil && m.Seq < batch[0].Seq:
		return errMissed
	}
	return nil
}
