package inputlog

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
)

const (
	// catchUpFrom is the number of inputs that all partitions together must be
	// behind for one to join a run, estimated from the inputs waiting for that one.
	catchUpFrom = 2_000
	// catchUpSpan is the maximum distance between the position of a member and that
	// of the middle one: the inputs that the last one lacks are read for all.
	catchUpSpan = 20_000
	// progressEvery is the number of inputs of other partitions after which a
	// member receives a position without inputs.
	progressEvery = 5_000
	// gatherTime is how long a run waits for its members. Partitions that are taken
	// over together join at nearly the same time.
	gatherTime = 100 * time.Millisecond
	// dispatchTimeout is how long a run waits for members that receive nothing. Their
	// owners may wait for events to be stored; the others must go on.
	dispatchTimeout = time.Second
	catchUpCredit   = 4 * broker.ReadCredit
	memberParts     = 4 // capacity of a member's queue

	// How long no run begins after one that ended before the stream's end, and after
	// one that read nothing.
	pauseShort  = 2 * time.Second
	pauseBroken = time.Minute
)

var errEnd = errors.New("inputlog: a run is at the end")

// catchUp begins the runs of a process, one at a time. A run reads the inputs of
// partitions that are far behind with one consumer without a filter. A consumer with
// a filter looks at every message it passes, and for the server 16 of them cost
// several times as much as one that delivers everything. At the stream's end filters
// cost nothing: there the run ends, and each partition reads on alone. The run also
// ends, and a partition reads alone, after any problem; the partition reports it.
type catchUp struct {
	l          *Log
	partitions int
	from       uint64        // catchUpFrom
	gather     time.Duration // gatherTime
	runs       atomic.Uint64
	readers    atomic.Int64 // partitions that are read, together or alone

	mu       sync.Mutex
	gathered []*member // of the next run
	running  bool
	after    time.Time // no run begins before
}

type member struct {
	partition int
	next      uint64          // position of the last part
	parts     chan part       // closed when it must read on alone
	left      <-chan struct{} // closed when it is not read any more
}

type part struct {
	batch []broker.Message
	next  uint64 // the partition has no other input below this
	read  broker.Witness
}

func newCatchUp(l *Log, partitions int) *catchUp {
	return &catchUp{l: l, partitions: partitions, from: catchUpFrom, gather: gatherTime}
}

// few reports whether n consumers with filters are cheaper than one without,
// which also reads the inputs of other partitions. By measurement, that is so
// below a third of all partitions.
func (c *catchUp) few(n int) bool { return n < max(2, c.partitions/3) }

// join adds a partition to the run that is about to begin. waiting is the number of
// its inputs at the server. join returns nil if the partition should read alone: it is
// not far behind, this process reads too few partitions, another run has begun, or the
// last one failed recently. The reader of the first member runs the run.
func (c *catchUp) join(ctx context.Context, r *reader, waiting uint64) *member {
	if waiting*uint64(c.partitions) < c.from {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(m *member) bool { return m.partition == r.partition }
	if c.running || c.few(int(c.readers.Load())) || time.Now().Before(c.after) || slices.ContainsFunc(c.gathered, same) {
		return nil
	}
	m := &member{partition: r.partition, next: r.next, parts: make(chan part, memberParts), left: ctx.Done()}
	if c.gathered = append(c.gathered, m); len(c.gathered) == 1 {
		r.runs.Go(func() { c.run(ctx) })
	}
	return m
}

func (c *catchUp) run(ctx context.Context) {
	gather := time.NewTimer(c.gather)
	defer gather.Stop()
	select {
	case <-gather.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	gathered := c.gathered
	c.gathered, c.running = nil, true
	c.mu.Unlock()

	r, pause := newRun(c, gathered), pauseShort
	if !c.few(r.joined) {
		c.runs.Add(1)
		pause = r.read(ctx)
	}
	c.mu.Lock()
	c.running, c.after = false, time.Now().Add(pause)
	c.mu.Unlock()
	for _, m := range r.members {
		if m != nil {
			close(m.parts)
		}
	}
}

// run is one consumer without a filter and the partitions that it reads for.
type run struct {
	c       *catchUp
	members []*member // by partition, nil where it reads alone
	joined  int       // members that are not nil
	next    uint64    // sequence to read
	top     uint64    // no member begins after it
	created bool      // the consumer was created
}

// newRun returns the run of the members that are near each other. The others read
// alone.
func newRun(c *catchUp, gathered []*member) *run {
	slices.SortFunc(gathered, func(a, b *member) int { return cmp.Compare(a.next, b.next) })
	middle := gathered[len(gathered)/2].next
	r := &run{c: c, members: make([]*member, c.partitions)}
	for _, m := range gathered {
		if m.next+catchUpSpan < middle || middle+catchUpSpan < m.next {
			close(m.parts)
			continue
		}
		if r.joined == 0 {
			r.next = m.next
		}
		r.top = m.next
		r.members[m.partition] = m
		r.joined++
	}
	return r
}

// read reads until the stream's end, or there are few members, or a problem. It
// returns how long no other run should begin.
func (r *run) read(ctx context.Context) (pause time.Duration) {
	first := r.next
	err := r.c.l.b.Read(ctx, broker.Reading{
		Stream: broker.StreamInputs, Credit: catchUpCredit, Position: r.position,
		Deliver: func(batch []broker.Message, pending uint64) error { return r.dispatch(ctx, batch, pending) },
		Idle:    func(context.Context) error { return broker.ErrStop }, // inputs wait and are not delivered
	}, first)
	switch {
	case errors.Is(err, errEnd):
		return 0
	case r.next == first:
		return pauseBroken
	}
	return pauseShort
}

// position ends the run where its consumer was lost, or the stream no longer has the
// inputs to be read, or has lost its end. Each partition then checks its own position:
// a member that is further on would take new inputs for old ones.
func (r *run) position(ctx context.Context, next uint64) error {
	if r.created {
		return broker.ErrStop
	}
	r.created = true
	bounds, err := r.c.l.b.Bounds(ctx, broker.StreamInputs)
	if err == nil && (next < bounds.First || r.top > bounds.Last+1) {
		return broker.ErrStop
	}
	return err
}

func (r *run) dispatch(ctx context.Context, batch []broker.Message, pending uint64) error {
	if n := len(batch); n > 0 {
		next := batch[n-1].Seq + 1
		if next-r.next != uint64(n) { // some are no longer stored
			bounds, err := r.c.l.b.Bounds(ctx, broker.StreamInputs)
			if err != nil || bounds.First > r.next || r.c.l.expired(batch[0].At, expiryEdge) {
				return errors.Join(broker.ErrStop, err)
			}
		}
		r.next = next
	}
	r.sendAll(ctx, batch, pending == 0)
	switch {
	case pending == 0:
		return errEnd
	case r.c.few(r.joined):
		return broker.ErrStop
	}
	return nil
}

// sendAll sends the parts of a batch, with empty ones from time to time and at
// the end.
func (r *run) sendAll(ctx context.Context, batch []broker.Message, end bool) {
	timeout, stop := context.WithTimeout(ctx, dispatchTimeout)
	defer stop()
	var read broker.Witness
	if n := len(batch); n > 0 {
		read = broker.Witness{Seq: batch[n-1].Seq, At: batch[n-1].At}
	}
	parts := byPartition(batch, r.members)
	for p, m := range r.members {
		if m != nil && (end || len(parts[p]) > 0 || r.next >= m.next+progressEvery) {
			r.send(timeout, m, part{parts[p], r.next, read})
		}
	}
}

// send sends a part, or drops a member that does not receive it in time.
func (r *run) send(timeout context.Context, m *member, p part) {
	m.next = p.next
	select {
	case m.parts <- p: // also after the timeout
		return
	default:
	}
	select {
	case m.parts <- p:
		return
	case <-m.left:
	case <-timeout.Done():
	}
	close(m.parts)
	r.members[m.partition] = nil
	r.joined--
}

func byPartition(batch []broker.Message, members []*member) [][]broker.Message {
	parts := make([][]broker.Message, len(members))
	for i := range batch {
		if p, _ := partitionOf(batch[i].Subject); p < len(members) && members[p] != nil {
			parts[p] = append(parts[p], batch[i])
		}
	}
	return parts
}
