package broker

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// sweepFrom is how many inputs, of all partitions, a partition is behind at
	// least that boards a sweep.
	sweepFrom = 2_000
	// sweepSpan is how far partitions may be apart that one sweep takes along:
	// what the hindmost has not read yet is read once more for it.
	sweepSpan = 20_000
	// sweepGather is how long a sweep waits for others before it begins. Those
	// who take partitions over together come at nearly the same time.
	sweepGather = 20 * time.Millisecond
	// sweepPatience is how long it waits for one that takes nothing. Its owner
	// may wait for events to be stored; the others must not.
	sweepPatience = 250 * time.Millisecond
	sweepCredit   = 4 * readCredit
	sweepRoom     = 4 // parts on their way to one partition
)

// errBehind ends a reader that is far behind, for a sweep to take it along.
var errBehind = errors.New("broker: far behind")

// errRewind ends the consumer of a sweep that somebody boarded behind it.
var errRewind = errors.New("broker: from further back")

// sweep reads the inputs of many partitions with one consumer without a filter,
// while they are far behind. A consumer with a filter looks at every message it
// passes, and for the server 16 of them cost several times what one costs that
// takes all. At the stream's end filters cost nothing: there a sweep is over,
// and each partition reads on by itself.
type sweep struct {
	b    *Broker
	from uint64 // sweepFrom

	mu      sync.Mutex
	readers int      // partitions that are read, here or alone
	riders  []*rider // by partition, nil where it reads alone
	aboard  int      // riders that are not nil
	next    uint64   // riders have got, or will not get, every input below it
	rewind  bool     // next was set back
	stop    context.CancelFunc
}

// rider is a partition that a sweep takes along.
type rider struct {
	partition int
	in        chan part     // closed where it must go on alone
	left      chan struct{} // closed when it takes nothing more
	end       uint64        // valid when in is closed: it got every input below it
}

// part is what a partition has in some messages in a row.
type part struct {
	batch []stored
	next  uint64 // it has no other below this
}

func newSweep(b *Broker) *sweep {
	return &sweep{b: b, from: sweepFrom, riders: make([]*rider, b.partitions)}
}

// count notes that one more, or one fewer, partition is read.
func (s *sweep) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers += n
}

// board takes a partition along that wants inputs from next on, and gives nil
// where it should read alone: where it is not behind, where this process reads
// too few partitions for one consumer to be cheaper, or where the others are
// elsewhere in the stream.
func (s *sweep) board(partition int, next, last uint64) *rider {
	if next+s.from > last {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.readers < 2 || 2*s.readers <= len(s.riders) || s.riders[partition] != nil:
		return nil
	case s.stop == nil:
		var ctx context.Context
		ctx, s.stop = context.WithCancel(context.Background())
		s.next = next
		go s.run(ctx)
	case next+sweepSpan < s.next || s.next+sweepSpan < next:
		return nil
	case next < s.next:
		s.next, s.rewind = next, true
	}
	r := &rider{partition: partition, in: make(chan part, sweepRoom), left: make(chan struct{})}
	s.riders[partition] = r
	s.aboard++
	return r
}

// leave lets a partition go. Who reads it calls it once.
func (s *sweep) leave(r *rider) {
	close(r.left)
	s.drop(r)
}

func (s *sweep) drop(r *rider) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.riders[r.partition] != r {
		return
	}
	s.riders[r.partition] = nil
	if s.aboard--; s.aboard == 0 && s.stop != nil {
		s.stop()
	}
}

// run reads until the stream's end, or nobody is aboard, or something is
// wrong: then each reads alone, and finds what it is.
func (s *sweep) run(ctx context.Context) {
	defer s.over()
	s.b.counts.swept.Add(1)
	gather := time.NewTimer(sweepGather)
	defer gather.Stop()
	select {
	case <-gather.C:
	case <-ctx.Done():
	}
	for err := errRewind; errors.Is(err, errRewind); {
		s.mu.Lock()
		from := s.next
		s.rewind = false
		s.mu.Unlock()
		err = s.b.read(ctx, reading{stream: streamInputs, credit: sweepCredit, position: s.position, deliver: s.deal}, from)
	}
}

// over lets all go.
func (s *sweep) over() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, r := range s.riders {
		if r != nil {
			if !s.rewind { // else it may have boarded further back
				r.end = s.next
			}
			close(r.in)
			s.riders[p] = nil
		}
	}
	s.aboard = 0
	s.stop()
	s.stop = nil
}

// position ends the sweep where the stream no longer has what is to be read.
func (s *sweep) position(ctx context.Context, next uint64) error {
	first, last, err := s.b.bounds(ctx, streamInputs)
	if err == nil && (next < first || next > last) {
		return errStop
	}
	return err
}

// deal gives each partition what is its own.
func (s *sweep) deal(batch []stored, caughtUp bool) error {
	if len(batch) == 0 {
		return errStop
	}
	next := batch[len(batch)-1].seq + 1
	s.mu.Lock()
	if s.rewind {
		s.mu.Unlock()
		return errRewind
	}
	s.next = next // who boards from now on and wants some of these makes us rewind
	riders := slices.Clone(s.riders)
	s.mu.Unlock()
	for p, mine := range byPartition(batch, riders) {
		if len(mine) > 0 {
			s.give(riders[p], part{mine, next})
		}
	}
	if caughtUp {
		return errStop
	}
	return nil
}

// byPartition gives the messages of each rider.
func byPartition(batch []stored, riders []*rider) [][]stored {
	of, size := make([]int, len(batch)), make([]int, len(riders))
	for i := range batch {
		if of[i] = partitionOf(batch[i].subject); of[i] < len(riders) {
			size[of[i]]++
		}
	}
	parts := make([][]stored, len(riders))
	for i, m := range batch {
		if p := of[i]; p < len(riders) && riders[p] != nil {
			if parts[p] == nil {
				parts[p] = make([]stored, 0, size[p])
			}
			parts[p] = append(parts[p], m)
		}
	}
	return parts
}

// give hands over a part, unless the rider takes nothing for too long.
func (s *sweep) give(r *rider, p part) {
	select {
	case r.in <- p:
		return
	default:
	}
	patience := time.NewTimer(sweepPatience)
	defer patience.Stop()
	select {
	case r.in <- p:
	case <-r.left:
	case <-patience.C:
		s.drop(r)
		close(r.in)
	}
}

// partitionOf reads the partition of a stored input's subject; what has none is
// in a partition that nobody has.
func partitionOf(subject string) int {
	text, _, _ := strings.Cut(strings.TrimPrefix(subject, "_llm."), ".")
	p, err := strconv.Atoi(text)
	if err != nil || p < 0 || len(text) > 1 && text[0] == '0' || text[0] == '+' {
		return 1 << 30
	}
	return p
}
