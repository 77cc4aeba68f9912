package broker

import (
	"context"
	"errors"
	"time"
)

// Inputs reads the inputs of a partition in stream order, without gap or
// duplicate, from sequence from (at least 1) on and then for ever, through
// restarts of the server.
//
// deliver gets what is waiting, at most 500 inputs, without delay; the slice
// is reused after it returns, the messages are not. next is a position:
// every input of this partition below it has been delivered. It can be ahead
// of the last input, because other partitions share the stream, and moves on
// now and then (with an empty batch) where the partition is idle. caughtUp
// tells that nothing more was waiting at the server after this batch; a
// stream that is read to its end at the start is told with an empty batch.
//
// Inputs returns ctx's error, deliver's, an *InputLostError where the position
// is below the stream's first message, or an *InputAheadError where it is
// above its last, or an *InputRewoundError where the stream has other inputs
// than those that were delivered.
func (b *Broker) Inputs(ctx context.Context, partition int, from uint64, deliver func(batch []Input, next uint64, caughtUp bool) error) error {
	b.sweep.count(1)
	defer b.sweep.count(-1)
	r := &inputReader{b: b, partition: partition, last: max(from, 1) - 1, next: max(from, 1), deliver: deliver}
	alone := reading{
		stream:   streamInputs,
		filter:   r.filter(),
		position: r.position,
		deliver:  func(batch []stored, pending uint64) error { return r.alone(ctx, batch, pending) },
		idle:     r.idle,
	}
	for {
		err := b.read(ctx, alone, r.next)
		if on, ok := errors.AsType[*boarded](err); ok {
			err = r.ride(ctx, on.rider)
		} else if errors.Is(err, errMissed) {
			err = b.again.pause(ctx, missedPause)
		}
		if err != nil {
			return err
		}
	}
}

// inputReader keeps the position of a partition in the stream all share.
type inputReader struct {
	b         *Broker
	partition int
	last      uint64    // every input of the partition up to it is delivered
	next      uint64    // the position; at least last + 1
	fresh     time.Time // the next input was stored later than this; zero if not known
	caughtUp  bool      // as it was delivered last
	looked    look
	read      Witness // the last input known below next, of any partition
	batch     []Input
	deliver   func([]Input, uint64, bool) error
}

// errMissed ends a consumer whose replica lacks what the stream has.
var errMissed = errors.New("broker: a replica lacks inputs")

// missedPause is how long it is waited before another is made, which may live
// elsewhere. Until then the inputs are there, or gone everywhere.
const missedPause = 250 * time.Millisecond

// boarded ends a consumer of a partition that a sweep takes along.
type boarded struct{ rider *rider }

// Error is never seen.
func (*boarded) Error() string { return "broker: far behind" }

// filter is none where there is one partition: a filter that lets everything
// through is ten times slower than none.
func (r *inputReader) filter() string {
	if r.b.partitions == 1 {
		return ""
	}
	return partitionRoot(r.partition) + ">"
}

// alone takes what the partition's own consumer brings.
func (r *inputReader) alone(ctx context.Context, batch []stored, pending uint64) error {
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
	if rider := r.b.sweep.board(r.partition, r.next, pending); rider != nil {
		return &boarded{rider}
	}
	return nil
}

// take delivers what is new of a batch, behind which the partition has nothing
// below next.
func (r *inputReader) take(batch []stored, next uint64, caughtUp bool) error {
	r.batch = r.batch[:0]
	for _, m := range batch {
		if m.seq >= r.next {
			r.batch = append(r.batch, r.b.input(m, r.partition))
		}
	}
	if n := len(r.batch); n > 0 {
		r.last, r.fresh = r.batch[n-1].Seq, r.batch[n-1].At
		r.saw(Witness{r.last, r.fresh})
	}
	r.next, r.caughtUp = max(r.next, r.last+1, next), caughtUp
	return r.deliver(r.batch, r.next, caughtUp)
}

// ride takes what a sweep brings, until it is over.
func (r *inputReader) ride(ctx context.Context, on *rider) error {
	defer r.b.sweep.leave(on)
	for {
		select {
		case p, ok := <-on.in:
			if !ok {
				return nil
			}
			if p.next <= r.next { // boarded further on
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
