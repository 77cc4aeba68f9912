package inputlog

import (
	"context"
	"errors"
	"time"

	"streamer/internal/broker"
)

// How long the shared reader waits for members whose inboxes are full. Their
// owners may wait for events to be stored; the others must go on. A live reader
// waits for each at most liveTimeout in liveWindow: its members are at the end of
// the stream, where every wait delays their events.
const (
	dispatchTimeout = time.Second
	liveTimeout     = 50 * time.Millisecond
	liveWindow      = time.Second
)

// dispatch sends each member its part of a batch.
func (c *sharedReader) dispatch(ctx context.Context, batch []broker.Message, pending uint64) error {
	b, err := c.move(batch, pending)
	if err != nil {
		return err
	}
	if b.next-b.from != uint64(len(batch)) { // some are no longer stored
		bounds, err := c.l.b.Bounds(ctx, broker.StreamInputs)
		if err != nil || bounds.First > b.from || c.l.expired(batch[0].At, expiryEdge) {
			return errors.Join(broker.ErrStop, err)
		}
	}
	c.sendAll(b, batch)
	if b.done {
		return errDone
	}
	return nil
}

// move is what a batch changed, and who receives it.
type move struct {
	members    []*member
	from, next uint64
	end        bool // nothing more was waiting at the server
	live       bool
	done       bool // the run ends
}

// move sets the next sequence after a batch, and whether the reader is live. A
// partition that joins later and lacks some of the batch sets the sequence back.
func (c *sharedReader) move(batch []broker.Message, pending uint64) (move, error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.back:
		return move{}, errBack
	case c.few(c.joined):
		return move{}, errFew
	}
	m := move{members: c.members, from: c.next, end: pending == 0}
	if n := len(batch); n > 0 {
		c.next = batch[n-1].Seq + 1
		c.saw(witness(batch))
	}
	m.next = c.next
	switch {
	case m.end || c.live && pending <= sharedSpan:
		m.done = !c.lasting(now)
		if !c.live && !m.done {
			c.lives.Add(1)
		}
		c.live = !m.done
	default:
		c.live = false
	}
	m.live = c.live
	return m, nil
}

// witness returns the last input of a batch, zero if it is empty.
func witness(batch []broker.Message) broker.Witness {
	if len(batch) == 0 {
		return broker.Witness{}
	}
	last := &batch[len(batch)-1]
	return broker.Witness{Seq: last.Seq, At: last.At}
}

// sendAll sends the parts of a batch. A member without inputs receives an empty
// part from time to time, and where it does not know that it is at the end.
func (c *sharedReader) sendAll(b move, batch []broker.Message) {
	w := waiting{c: c, live: b.live}
	read := witness(batch)
	c.divide(b.members, batch)
	for p, m := range b.members {
		if m == nil {
			continue
		}
		mine := c.parts[p]
		if len(mine) > 0 || b.done && m.sent < b.next || b.end && m.late || b.next >= m.sent+progressEvery {
			w.send(m, part{mine, b.next, read, b.end})
		}
		clear(mine)
	}
}

// divide sets the messages of each member.
func (c *sharedReader) divide(members []*member, batch []broker.Message) {
	for p := range c.parts {
		c.parts[p] = c.parts[p][:0]
	}
	for i := range batch {
		if p, _ := partitionOf(batch[i].Subject); p < len(members) && members[p] != nil {
			c.parts[p] = append(c.parts[p], batch[i])
		}
	}
}

// waiting sends the parts of one batch. However many members it waits for, the
// others wait once.
type waiting struct {
	c     *sharedReader
	live  bool
	until time.Time // zero where it has not waited
}

// send sends a part, or drops a member that does not receive it in time.
func (w *waiting) send(m *member, p part) {
	m.sent, m.late = p.next, !p.caughtUp
	if m.in.put(p) {
		return
	}
	began := time.Now()
	timer := time.NewTimer(w.limit(m, began))
	defer timer.Stop()
	for !m.in.put(p) {
		select {
		case <-m.in.room:
		case <-m.left:
			return
		case <-timer.C:
			w.c.drop(m, pauseLate)
			return
		}
	}
	m.held += time.Since(began)
}

// limit returns how long to wait for a member.
func (w *waiting) limit(m *member, now time.Time) time.Duration {
	timeout := dispatchTimeout
	if w.live {
		timeout = liveTimeout
	}
	if w.until.IsZero() {
		w.until = now.Add(timeout)
	}
	left := w.until.Sub(now)
	if now.Sub(m.heldSince) >= liveWindow {
		m.held, m.heldSince = 0, now
	}
	switch {
	case !w.live:
		return left
	case !m.follows.Load(): // it reads alone meanwhile
		return 0
	}
	return min(left, liveTimeout-m.held)
}
