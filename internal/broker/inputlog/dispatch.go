package inputlog

import (
	"context"
	"errors"
	"slices"

	"streamer/internal/broker"
)

// part is a partition's share of consecutive inputs.
type part struct {
	batch []broker.Message
	next  uint64 // the partition has no other input below this
	read  broker.Witness
}

// dispatch sends each member its part of a batch.
func (c *catchUp) dispatch(ctx context.Context, batch []broker.Message, pending uint64) error {
	members, from, next, err := c.move(batch)
	if err != nil {
		return err
	}
	if next-from != uint64(len(batch)) { // some are no longer stored
		bounds, err := c.l.b.Bounds(ctx, broker.StreamInputs)
		if err != nil || bounds.First > from || c.l.expired(batch[0].At, expiryEdge) {
			return errors.Join(broker.ErrStop, err)
		}
	}
	c.sendAll(members, batch, next, pending == 0)
	if pending == 0 {
		return errDone
	}
	return nil
}

// move sets the next sequence after a batch and returns the members. A partition
// that joins later and lacks some of the batch sets the sequence back.
func (c *catchUp) move(batch []broker.Message) (members []*member, from, next uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.back:
		return nil, 0, 0, errBack
	case c.few(c.joined):
		return nil, 0, 0, errFew
	}
	from = c.next
	if n := len(batch); n > 0 {
		c.next = batch[n-1].Seq + 1
		c.read = witness(batch)
	}
	return slices.Clone(c.members), from, c.next, nil
}

// witness returns the last input of a batch, zero if it is empty.
func witness(batch []broker.Message) broker.Witness {
	if len(batch) == 0 {
		return broker.Witness{}
	}
	last := &batch[len(batch)-1]
	return broker.Witness{Seq: last.Seq, At: last.At}
}

// sendAll sends the parts of a batch, with empty ones from time to time and at
// the end.
func (c *catchUp) sendAll(members []*member, batch []broker.Message, next uint64, end bool) {
	timeout, stop := context.WithTimeout(context.Background(), dispatchTimeout)
	defer stop()
	read := witness(batch)
	parts := byPartition(batch, members)
	for p, m := range members {
		if m != nil && (end || len(parts[p]) > 0 || next >= m.sent+progressEvery) {
			c.send(timeout, m, part{parts[p], next, read})
		}
	}
}

// send sends a part, or drops a member that does not receive it in time.
func (c *catchUp) send(timeout context.Context, m *member, p part) {
	m.sent = p.next
	select {
	case m.in <- p:
		return
	default:
	}
	select {
	case m.in <- p:
	case <-m.left:
	case <-timeout.Done():
		c.drop(m, pauseLate)
		close(m.in)
	}
}

// byPartition returns the messages of each member.
func byPartition(batch []broker.Message, members []*member) [][]broker.Message {
	of, size := make([]int, len(batch)), make([]int, len(members))
	for i := range batch {
		if of[i], _ = partitionOf(batch[i].Subject); of[i] < len(members) {
			size[of[i]]++
		}
	}
	parts := make([][]broker.Message, len(members))
	for i := range batch {
		if p := of[i]; p < len(members) && members[p] != nil {
			if parts[p] == nil {
				parts[p] = make([]broker.Message, 0, size[p])
			}
			parts[p] = append(parts[p], batch[i])
		}
	}
	return parts
}
