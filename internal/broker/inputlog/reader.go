package inputlog

import (
	"context"
	"errors"
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
