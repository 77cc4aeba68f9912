package broker

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// sweepFrom is about how many inputs all partitions are behind when one
	// boards a sweep, by what is waiting for that one.
	sweepFrom = 2_000
	// sweepSpan is how far partitions may be apart that one sweep takes along:
	// what the hindmost has not read yet is read once more for it.
	sweepSpan = 20_000
	// sweepTell is after how many inputs, none of them its own, a partition is
	// told how far the sweep has come.
	sweepTell = 5_000
	// sweepGather is how long a sweep waits for others before it begins. Those
	// who take partitions over together come at nearly the same time.
	sweepGather = 20 * time.Millisecond
	// sweepPatience is how long it waits for those that take nothing. Their
	// owners may wait for events to be stored; the others must not.
	sweepPatience = time.Second
	// sweepSilence is how long a sweep may bring nothing.
	sweepSilence = 5 * time.Second
	sweepCredit  = 4 * readCredit
	sweepRoom    = 4 // parts on their way to one partition

	// How long a partition reads alone after a sweep that had too few aboard or
	// broke off, after one that could not wait for it, and after one that brought
	// nothing.
	restFew    = 2 * time.Second
	restLate   = 5 * time.Second
	restBroken = time.Minute
)

// What ends a sweep's consumer.
var (
	errRewind = errors.New("broker: somebody boarded further back")
	errFew    = errors.New("broker: too few aboard")
	errSwept  = errors.New("broker: the sweep is at the end")
)

// sweep reads the inputs of many partitions with one consumer without a filter,
// while they are far behind. A consumer with a filter looks at every message it
// passes, and for the server 16 of them cost several times what one costs that
// takes all. At the stream's end filters cost nothing: there a sweep is over,
// and each partition reads on by itself. So it does wherever something is
// wrong, and finds what it is.
type sweep struct {
	b       *Broker
	from    uint64        // sweepFrom
	silence time.Duration // sweepSilence

	mu      sync.Mutex
	readers int         // partitions that are read, here or alone
	riders  []*rider    // by partition, nil where it reads alone
	alone   []time.Time // by partition: until when it does not board
	aboard  int         // riders that are not nil
	next    uint64      // of the next input that is read
	top     uint64      // nobody has come further than this or next
	rewind  bool        // next was set back
	read    Witness     // the last input that was read
	stop    context.CancelFunc
}

// rider is a partition that a sweep takes along.
type rider struct {
	partition int
	in        chan part     // closed where it must go on alone
	left      chan struct{} // closed when it takes nothing more
	told      uint64        // next of the last part
}

func newSweep(b *Broker) *sweep {
	n := b.partitions
	return &sweep{b: b, from: sweepFrom, silence: sweepSilence, riders: make([]*rider, n), alone: make([]time.Time, n)}
}

// count notes that one more, or one fewer, partition is read.
func (s *sweep) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers += n
}

// board takes a partition along that wants inputs from next on, of which so
// many are waiting. It gives nil where the partition should read alone: where
// it is not behind, where this process reads too few partitions for one
// consumer to be cheaper, where the others are elsewhere in the stream, or
// where it did not go well a while ago.
func (s *sweep) board(partition int, next, waiting uint64) *rider {
	if waiting*uint64(len(s.riders)) < s.from {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.few(s.readers) || s.riders[partition] != nil || time.Now().Before(s.alone[partition]):
		return nil
	case s.stop == nil:
		var ctx context.Context
		ctx, s.stop = context.WithCancel(context.Background())
		s.next, s.top, s.rewind, s.read = next, next, false, Witness{}
		go s.run(ctx)
	case s.aboard == 0: // it ends
		return nil
	case next+sweepSpan < s.next || s.next+sweepSpan < next:
		return nil
	case next < s.next:
		s.top = max(s.top, s.next)
		s.next, s.rewind = next, true
	}
	s.top = max(s.top, next)
	r := &rider{partition: partition, in: make(chan part, sweepRoom), left: make(chan struct{}), told: next}
	s.riders[partition] = r
	s.aboard++
	return r
}

// few tells whether n consumers with filters are cheaper than one without, which
// brings what belongs to others as well. As measured, that is so below a third
// of all partitions.
func (s *sweep) few(n int) bool { return n < max(2, len(s.riders)/3) }

// leave lets a partition go. Who reads it calls it once.
func (s *sweep) leave(r *rider) {
	close(r.left)
	s.drop(r, 0)
}

// drop takes a partition no further, and has it read alone for a while.
func (s *sweep) drop(r *rider, rest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.riders[r.partition] != r {
		return
	}
	s.riders[r.partition] = nil
	s.alone[r.partition] = time.Now().Add(rest)
	if s.aboard--; s.aboard == 0 && s.stop != nil {
		s.stop()
	}
}

// run reads until the stream's end, or few are aboard, or something is wrong.
func (s *sweep) run(ctx context.Context) {
	gather := time.NewTimer(sweepGather)
	defer gather.Stop()
	select {
	case <-gather.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	few := s.few(s.aboard)
	s.mu.Unlock()
	if few {
		s.over(restFew)
		return
	}
	s.b.counts.swept.Add(1)
	silence := time.AfterFunc(s.silence, s.stop)
	defer silence.Stop()
	r := reading{stream: streamInputs, credit: sweepCredit, position: s.position}
	rest := restBroken // where it brings nothing at all
	r.deliver = func(batch []stored, pending uint64) error {
		if len(batch) > 0 {
			silence.Reset(s.silence)
			rest = restFew
		}
		return s.deal(ctx, batch, pending)
	}
	err := errRewind
	for errors.Is(err, errRewind) {
		err = s.b.read(ctx, r, s.begin())
	}
	if errors.Is(err, errSwept) {
		rest = 0
	}
	s.over(rest)
}

// begin gives where to read from.
func (s *sweep) begin() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rewind = false
	return s.next
}

// over lets all go, to read alone for a while at least.
func (s *sweep) over(rest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, r := range s.riders {
		if r != nil {
			close(r.in)
			s.riders[p], s.alone[p] = nil, time.Now().Add(rest)
		}
	}
	s.aboard = 0
	s.stop()
	s.stop = nil
}

// position ends the sweep where the stream no longer has what is to be read, or
// has lost its end: who has come further would take new inputs for old ones.
func (s *sweep) position(ctx context.Context, next uint64) error {
	state, err := s.b.bounds(ctx, streamInputs)
	if err != nil {
		return err
	}
	s.mu.Lock()
	top, read := s.top, s.read
	s.mu.Unlock()
	if next < state.First || max(next, top) > state.Last+1 {
		return errStop
	}
	if read.Seq == 0 {
		return nil
	}
	if same, err := s.b.witnessed(ctx, read); err != nil || !same {
		return errors.Join(errStop, err)
	}
	return nil
}
