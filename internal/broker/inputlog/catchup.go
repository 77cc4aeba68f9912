package inputlog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
)

const (
	// catchUpFrom is the number of inputs that all partitions together must be
	// behind for one to join the catch-up reader, estimated from the inputs
	// waiting for that one.
	catchUpFrom = 2_000
	// catchUpSpan is the maximum distance between the positions of partitions that
	// read together: the inputs that the last one lacks are read again for it.
	catchUpSpan = 20_000
	// progressEvery is the number of inputs of other partitions after which a
	// member receives a position without inputs.
	progressEvery = 5_000
	// gatherTime is how long the reader waits for other partitions before it
	// starts. Partitions that are taken over together join at nearly the same time.
	gatherTime = 20 * time.Millisecond
	// dispatchTimeout is how long it waits for members that receive nothing. Their
	// owners may wait for events to be stored; the others must go on.
	dispatchTimeout = time.Second
	// catchUpSilence is the maximum time for which it may read nothing.
	catchUpSilence = 5 * time.Second
	catchUpCredit  = 4 * broker.ReadCredit
	memberParts    = 4 // capacity of a member's queue

	// How long a partition reads alone after a run that had too few members or was
	// interrupted, after one that could not wait for the partition, and after one
	// that read nothing.
	pauseFew    = 2 * time.Second
	pauseLate   = 5 * time.Second
	pauseBroken = time.Minute
)

// Errors that end the consumer of the catch-up reader.
var (
	errBack = errors.New("inputlog: a partition joined further back")
	errFew  = errors.New("inputlog: too few members")
	errDone = errors.New("inputlog: the catch-up reader is at the end")
)

// catchUp is the shared catch-up reader: one consumer without a filter that reads
// the inputs of many partitions while they are far behind. A consumer with a
// filter looks at every message it passes, and for the server 16 of them cost
// several times as much as one that delivers everything. At the stream's end
// filters cost nothing: there the run ends, and each partition reads on alone. A
// partition also reads alone after any problem, and reports what it is.
type catchUp struct {
	l       *Log
	from    uint64        // catchUpFrom
	silence time.Duration // catchUpSilence
	gather  time.Duration // gatherTime
	runs    atomic.Uint64

	mu      sync.Mutex
	readers int         // partitions that are read, here or alone
	members []*member   // by partition, nil where it reads alone
	alone   []time.Time // by partition: until when it does not join
	joined  int         // members that are not nil
	next    uint64      // sequence of the next input to read
	top     uint64      // no member is further on than this or next
	back    bool        // next was set back
	read    broker.Witness
	stop    context.CancelFunc
}

// member is a partition that joined the catch-up reader.
type member struct {
	partition int
	in        chan part     // closed where it must read on alone
	left      chan struct{} // closed when it receives nothing more
	sent      uint64        // next of the last part
}

func newCatchUp(l *Log, partitions int) *catchUp {
	return &catchUp{l: l, from: catchUpFrom, silence: catchUpSilence, gather: gatherTime, members: make([]*member, partitions), alone: make([]time.Time, partitions)}
}

// count adds n to the number of partitions that are read.
func (c *catchUp) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers += n
}

// join adds a partition whose next input is next and which has waiting inputs at
// the server. It returns nil if the partition should read alone: it is not far
// behind, this process reads too few partitions for one consumer to be cheaper,
// the other members are elsewhere in the stream, or the last run failed recently.
func (c *catchUp) join(partition int, next, waiting uint64) *member {
	if waiting*uint64(len(c.members)) < c.from {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.few(c.readers) || c.members[partition] != nil || time.Now().Before(c.alone[partition]):
		return nil
	case c.stop == nil:
		var ctx context.Context
		ctx, c.stop = context.WithCancel(context.Background())
		c.next, c.top, c.back, c.read = next, next, false, broker.Witness{}
		go c.run(ctx)
	case c.joined == 0: // the run is ending
		return nil
	case next+catchUpSpan < c.next || c.next+catchUpSpan < next:
		return nil
	case next < c.next:
		c.top = max(c.top, c.next)
		c.next, c.back = next, true
	}
	c.top = max(c.top, next)
	m := &member{partition: partition, in: make(chan part, memberParts), left: make(chan struct{}), sent: next}
	c.members[partition] = m
	c.joined++
	return m
}

// few reports whether n consumers with filters are cheaper than one without,
// which also reads the inputs of other partitions. By measurement, that is so
// below a third of all partitions.
func (c *catchUp) few(n int) bool { return n < max(2, len(c.members)/3) }

// leave removes a member. The partition's reader calls it once.
func (c *catchUp) leave(m *member) {
	close(m.left)
	c.drop(m, 0)
}

// drop removes a member, which then reads alone for a while.
func (c *catchUp) drop(m *member, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members[m.partition] != m {
		return
	}
	c.members[m.partition] = nil
	c.alone[m.partition] = time.Now().Add(pause)
	if c.joined--; c.joined == 0 && c.stop != nil {
		c.stop()
	}
}

// run reads until the stream's end, or there are few members, or a problem.
func (c *catchUp) run(ctx context.Context) {
	gather := time.NewTimer(c.gather)
	defer gather.Stop()
	select {
	case <-gather.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	few := c.few(c.joined)
	c.mu.Unlock()
	if few {
		c.end(pauseFew)
		return
	}
	c.runs.Add(1)
	silence := time.AfterFunc(c.silence, c.stop)
	defer silence.Stop()
	r := broker.Reading{Stream: broker.StreamInputs, Credit: catchUpCredit, Position: c.position}
	pause := pauseBroken // where it reads nothing at all
	r.Deliver = func(batch []broker.Message, pending uint64) error {
		if len(batch) > 0 {
			silence.Reset(c.silence)
			pause = pauseFew
		}
		return c.dispatch(ctx, batch, pending)
	}
	err := errBack
	for errors.Is(err, errBack) {
		err = c.l.b.Read(ctx, r, c.begin())
	}
	if errors.Is(err, errDone) {
		pause = 0
	}
	c.end(pause)
}

// begin returns the sequence to read from.
func (c *catchUp) begin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.back = false
	return c.next
}

// end lets all members read alone, for pause at least.
func (c *catchUp) end(pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, m := range c.members {
		if m != nil {
			close(m.in)
			c.members[p], c.alone[p] = nil, time.Now().Add(pause)
		}
	}
	c.joined = 0
	c.stop()
	c.stop = nil
}

// position ends the run where the stream no longer has the inputs to be read, or
// has lost its end: a member that is further on would take new inputs for old
// ones.
func (c *catchUp) position(ctx context.Context, next uint64) error {
	bounds, err := c.l.b.Bounds(ctx, broker.StreamInputs)
	if err != nil {
		return err
	}
	c.mu.Lock()
	top, read := c.top, c.read
	c.mu.Unlock()
	if next < bounds.First || max(next, top) > bounds.Last+1 {
		return broker.ErrStop
	}
	if read.Seq == 0 {
		return nil
	}
	if same, err := c.l.has(ctx, read); err != nil || !same {
		return errors.Join(broker.ErrStop, err)
	}
	return nil
}
