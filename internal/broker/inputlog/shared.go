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
	// sharedBehind is the number of inputs that all partitions together must be
	// behind for one to join the shared reader, estimated from the inputs waiting
	// for that one.
	sharedBehind = 2_000
	// sharedRate is the number of inputs per second above which the partitions of
	// a process are read together at the end of the stream. Below half of it they
	// read alone again.
	sharedRate = 4_000
	// sharedSpan is the maximum distance between the positions of partitions that
	// read together: the inputs that the last one lacks are read again for it. A
	// reader that is that far from the end of the stream is no longer live.
	sharedSpan = 20_000
	// progressEvery is the number of inputs of other partitions after which a
	// member receives a position without inputs.
	progressEvery = 5_000
	// gatherTime is how long the reader waits for other partitions before it
	// starts. Partitions that are taken over together join at nearly the same
	// time. liveGather is the same at the end of the stream, where a partition
	// joins with its next input and reads alone meanwhile.
	gatherTime = 20 * time.Millisecond
	liveGather = 100 * time.Millisecond
	// sharedSilence is the maximum time for which it may read nothing.
	sharedSilence = 5 * time.Second
	sharedCredit  = 4 * broker.ReadCredit

	// How long a partition reads alone after a run that had too few members or was
	// interrupted, after one that could not wait for the partition, and after one
	// that read nothing.
	pauseFew    = 2 * time.Second
	pauseLate   = 5 * time.Second
	pauseBroken = time.Minute
)

// Errors that end the consumer of the shared reader.
var (
	errBack = errors.New("inputlog: a partition joined further back")
	errFew  = errors.New("inputlog: too few members")
	errDone = errors.New("inputlog: the shared reader is at the end and few inputs arrive")
)

// sharedReader is one consumer without a filter that reads the inputs of many
// partitions, its members. A consumer with a filter looks at every message it
// passes, and for the server 16 of them cost several times as much as one that
// delivers everything. So partitions that are far behind read together. At the
// stream's end, where a filter costs little, they do so while many inputs arrive:
// there the reader is live. Otherwise each partition reads alone, and it does so
// after any problem, which it reports.
//
// A partition that is far behind joins at its own position, and the reader goes
// back to it. A partition at the end joins a live reader at the reader's position.
// It reads on alone until it has passed that, so neither waits for the other.
type sharedReader struct {
	l        *Log
	behind   uint64        // sharedBehind
	liveRate int           // sharedRate
	silence  time.Duration // sharedSilence
	gather   time.Duration // gatherTime
	catchUps atomic.Uint64 // runs that began far behind
	lives    atomic.Uint64 // times that a run became live
	parts    [][]broker.Message

	mu      sync.Mutex
	readers int         // partitions that are read, here or alone
	members []*member   // by partition, nil where it reads alone; replaced with each change
	alone   []time.Time // by partition: until when it does not join
	joined  int         // members that are not nil
	rate    rate
	next    uint64         // sequence of the next input to read
	top     uint64         // no member that follows is further on than this or next
	back    bool           // next was set back
	live    bool           // at the end of the stream
	begun   bool           // inputs were read in this run
	read    broker.Witness // the last input that it or a member has read
	stop    context.CancelFunc
}

// member is a partition that joined the shared reader.
type member struct {
	partition int
	in        *inbox        // closed where the partition must read on alone
	left      chan struct{} // closed when it receives nothing more
	from      uint64        // the partition reads alone up to here
	follows   atomic.Bool   // it has no consumer of its own

	// Of the reader's goroutine.
	sent      uint64 // next of the last part
	late      bool   // that part did not reach the end of the stream
	held      time.Duration
	heldSince time.Time // held is how long the others waited for it since then
}

func newSharedReader(l *Log, partitions int) *sharedReader {
	return &sharedReader{
		l: l, behind: sharedBehind, liveRate: sharedRate, silence: sharedSilence, gather: gatherTime,
		parts: make([][]broker.Message, partitions), members: make([]*member, partitions),
		alone: make([]time.Time, partitions), rate: newRate(partitions),
	}
}

// count adds n to the number of partitions that are read.
func (c *sharedReader) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readers += n
}

// arrived counts inputs that a partition received, here or alone.
func (c *sharedReader) arrived(partition, n int) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rate.add(now, partition, n)
}

// join adds a partition whose next input is next and which has waiting inputs at
// the server. It returns nil if the partition should read alone: it is neither far
// behind nor at the end while many inputs arrive, this process reads too few
// partitions for one consumer to be cheaper, the other members are elsewhere in
// the stream, or the last run failed recently. The partition calls settle before
// it gives up its own consumer.
func (c *sharedReader) join(partition int, next, waiting uint64) *member {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.few(c.readers) || c.members[partition] != nil || now.Before(c.alone[partition]):
		return nil
	case c.stop != nil && c.joined == 0: // the run is ending
		return nil
	case waiting*uint64(len(c.members)) < c.behind:
		return c.joinLive(now, partition, next)
	case c.live: // it would set the others back
		return nil
	}
	return c.joinBehind(partition, next)
}

// joinBehind adds a partition that is far behind. It follows at once.
func (c *sharedReader) joinBehind(partition int, next uint64) *member {
	switch {
	case c.stop == nil:
		c.start(next, false)
	case next+sharedSpan < c.next || c.next+sharedSpan < next:
		return nil
	case next < c.next:
		c.top = max(c.top, c.next)
		c.next, c.back = next, true
	}
	c.top = max(c.top, next)
	return c.add(partition, next, true)
}

// joinLive adds a partition at the end of the stream. It follows where it has read
// everything before the reader's position.
func (c *sharedReader) joinLive(now time.Time, partition int, next uint64) *member {
	c.rate.advance(now)
	switch {
	case c.stop != nil && !c.live:
		return nil
	case c.stop == nil && (!c.most() || c.rate.perSecond <= c.liveRate || 2*c.rate.active <= len(c.members)):
		return nil
	case c.stop == nil:
		c.start(next, true)
	case !c.begun && next > c.next: // all can read alone up to there
		c.next = next
	}
	return c.add(partition, c.next, false)
}

// start starts a run. The caller adds the first member.
func (c *sharedReader) start(next uint64, live bool) {
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	c.next, c.top, c.back, c.live, c.begun, c.read = next, next, false, live, false, broker.Witness{}
	go c.run(ctx)
}

// add adds a member that needs the inputs from a sequence on.
func (c *sharedReader) add(partition int, from uint64, follows bool) *member {
	m := &member{partition: partition, in: newInbox(from), left: make(chan struct{}), from: from, sent: from, late: true}
	m.follows.Store(follows)
	c.replace(partition, m)
	c.joined++
	return m
}

// replace sets or removes a member. The reader's goroutine may be using the slice.
func (c *sharedReader) replace(partition int, m *member) {
	members := make([]*member, len(c.members))
	copy(members, c.members)
	members[partition] = m
	c.members = members
}

// settle reports whether a member may give up its own consumer, with which it has
// read all inputs below next, the last of them read. It reports closed where the
// member has to read on alone.
//
// After a restart of the server, the reader checks that the log still has read.
func (c *sharedReader) settle(m *member, next uint64, read broker.Witness) (follows, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.members[m.partition] != m:
		return false, true
	case !m.follows.Load() && (!c.live || !c.begun || next < m.from):
		return false, false
	}
	c.top = max(c.top, next)
	c.saw(read)
	m.follows.Store(true)
	return true, false
}

// saw notes an input that the reader or a member has read.
func (c *sharedReader) saw(w broker.Witness) {
	if w.Seq > c.read.Seq {
		c.read = w
	}
}

// few reports whether n consumers with filters are cheaper than one without,
// which also reads the inputs of other partitions. By measurement, that is so
// below a third of all partitions.
func (c *sharedReader) few(n int) bool { return n < max(2, len(c.members)/3) }

// most reports whether this process reads more than half of the partitions.
func (c *sharedReader) most() bool { return 2*c.readers > len(c.members) }

// lasting reports whether enough inputs arrive for the reader to stay live.
func (c *sharedReader) lasting(now time.Time) bool {
	c.rate.advance(now)
	return c.most() && c.rate.perSecond > 0 && c.rate.perSecond >= c.liveRate/2
}

// leave removes a member, which then reads alone for a while. The partition's
// reader calls it once.
func (c *sharedReader) leave(m *member, pause time.Duration) {
	close(m.left)
	c.drop(m, pause)
}

// drop removes a member, which then reads alone for a while.
func (c *sharedReader) drop(m *member, pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.members[m.partition] != m {
		return
	}
	m.in.close()
	c.replace(m.partition, nil)
	c.alone[m.partition] = time.Now().Add(pause)
	if c.joined--; c.joined == 0 && c.stop != nil {
		c.stop()
	}
}

// run reads until the stream's end, where it goes on while many inputs arrive, or
// there are few members, or a problem.
func (c *sharedReader) run(ctx context.Context) {
	if !c.gathered(ctx) {
		c.end(pauseFew)
		return
	}
	silence := time.AfterFunc(c.silence, c.stop)
	defer silence.Stop()
	r := broker.Reading{Stream: broker.StreamInputs, Credit: sharedCredit, Position: c.position, Idle: c.idle}
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

// gathered waits for members and reports whether there are enough.
func (c *sharedReader) gathered(ctx context.Context) bool {
	c.mu.Lock()
	live, wait := c.live, c.gather
	c.mu.Unlock()
	if live {
		wait = liveGather
	}
	gather := time.NewTimer(wait)
	defer gather.Stop()
	select {
	case <-gather.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.few(c.joined) {
		return false
	}
	if live {
		c.lives.Add(1)
	} else {
		c.catchUps.Add(1)
	}
	return true
}

// begin returns the sequence to read from.
func (c *sharedReader) begin() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.members {
		if m != nil && !c.begun && !m.follows.Load() {
			m.from = c.next
		}
	}
	c.back, c.begun = false, true
	return c.next
}

// idle ends a live run that reads nothing.
func (c *sharedReader) idle(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live {
		return errDone
	}
	return nil
}

// end lets all members read alone, for pause at least.
func (c *sharedReader) end(pause time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, m := range c.members {
		if m != nil {
			m.in.close()
			c.alone[p] = time.Now().Add(pause)
		}
	}
	c.members = make([]*member, len(c.members))
	c.joined, c.live = 0, false
	c.stop()
	c.stop = nil
}

// position ends the run where the stream no longer has the inputs to be read, or
// has lost its end: a member that is further on would take new inputs for old
// ones.
func (c *sharedReader) position(ctx context.Context, next uint64) error {
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
