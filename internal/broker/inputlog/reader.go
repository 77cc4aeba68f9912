package inputlog

import (
	"context"
	"errors"
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
	l.shared.count(1)
	defer l.shared.count(-1)
	r := &reader{l: l, partition: partition, last: max(from, 1) - 1, next: max(from, 1), deliver: deliver}
	defer r.leave(0)
	alone := broker.Reading{
		Stream:   broker.StreamInputs,
		Filter:   r.filter(),
		Position: r.position,
		Deliver:  func(batch []broker.Message, pending uint64) error { return r.alone(ctx, batch, pending) },
		Idle:     r.idle,
	}
	for {
		err := l.b.Read(ctx, alone, r.next)
		if errors.Is(err, errJoined) {
			err = r.follow(ctx)
		} else if errors.Is(err, errMissed) {
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
	member    *member // of the shared reader; nil if it is none
	deliver   func([]inputs.Input, uint64, bool) error
}

// errMissed ends a consumer whose replica lacks messages of the stream.
var errMissed = errors.New("inputlog: a replica lacks inputs")

// missedPause is the pause before the next consumer, which may be placed on
// another replica. By then that one has the inputs, or no server has them.
const missedPause = 250 * time.Millisecond

// errJoined ends the consumer of a partition that follows the shared reader.
var errJoined = errors.New("inputlog: joined the shared reader")

// filter returns the filter of the partition's consumer. It is "" where there is
// one partition: a filter that matches everything is ten times slower than none.
func (r *reader) filter() string {
	if r.l.b.Partitions() == 1 {
		return ""
	}
	return partitionRoot(r.partition) + ">"
}

// alone takes a batch of the partition's own consumer.
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
	return r.join(pending)
}

// join joins the shared reader, and returns errJoined where the partition's own
// consumer is no longer needed.
func (r *reader) join(pending uint64) error {
	if r.member == nil {
		r.member = r.l.shared.join(r.partition, r.next, pending)
	}
	if r.member == nil {
		return nil
	}
	follows, closed := r.l.shared.settle(r.member, r.next, r.read)
	switch {
	case closed:
		r.leave(0)
	case follows:
		return errJoined
	}
	return nil
}

// leave leaves the shared reader, for pause at least.
func (r *reader) leave(pause time.Duration) {
	if r.member != nil {
		r.l.shared.leave(r.member, pause)
		r.member = nil
	}
}

// take delivers the new inputs of a batch. After the batch, the partition has
// nothing below next.
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
	r.l.shared.arrived(r.partition, len(r.batch))
	return r.deliver(r.batch, r.next, caughtUp)
}

// follow delivers what the shared reader dispatches, until that ends. Before, it
// checks that the log still has the last input: a log that was rewound a moment ago
// can have others already, which the shared reader takes for those that this
// partition has read. Where it is rewound later, the shared reader notices.
func (r *reader) follow(ctx context.Context) error {
	err := r.rewound(ctx)
	if _, ok := errors.AsType[*RewoundError](err); ok {
		r.leave(pauseLate)
		return nil // checked again before the partition reads on alone
	}
	defer r.leave(0)
	for err == nil {
		select {
		case <-r.member.in.ready:
			p, closed := r.member.in.take()
			if err := r.receive(p); err != nil || closed {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// receive delivers a part from the shared reader, unless the partition is further
// on.
func (r *reader) receive(p part) error {
	if p.next < r.next || p.next == r.next && (!p.caughtUp || r.caughtUp) {
		return nil
	}
	r.saw(p.read)
	return r.take(p.batch, p.next, p.caughtUp)
}
