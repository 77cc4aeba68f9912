package broker

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

// Pub is a message to publish. It must not be changed until its Ack is there.
type Pub struct {
	Subject string
	Header  nats.Header
	Data    []byte
	Key     any // for the caller's use
	// RefuseFull selects ErrFull as the outcome where the stream is full. Otherwise
	// the publish waits.
	RefuseFull bool
	// Epoch is the connection epoch in which the condition was learned, 0 if the epoch
	// does not matter. In another epoch the publish is refused as a conflict, without
	// being sent.
	Epoch uint64
}

// Ack is the outcome of a Pub.
type Ack struct {
	Pub       *Pub
	Seq       uint64 // in its stream, where Err is nil
	Duplicate bool   // the Nats-Msg-Id is known: Seq is that of the first message
	// Err is nil, or Is one of ErrConflict, ErrTooLarge, ErrRefused, ErrFull and
	// ErrClosed. With ErrClosed the message may be stored.
	Err error
}

// Publish sends p and puts exactly one Ack into acks: stored, definitively refused,
// or closed. Until then it sends p again after every uncertain outcome. It blocks
// only while the connection's buffer is full. acks needs capacity for all that its
// sender has in flight, or the order of the Acks is lost.
func (b *Broker) Publish(p *Pub, acks chan<- Ack) { b.pubs.publish(p, acks) }

// Epoch returns the connection epoch, which grows with each connection. An event
// that was read in an earlier epoch may have been lost with its server.
func (b *Broker) Epoch() uint64 {
	b.pubs.mu.Lock()
	defer b.pubs.mu.Unlock()
	return b.pubs.epoch
}

// PublishWait sends p and waits for its outcome. If ctx ends first, p is not sent
// again, Err is ctx's error, and p may or may not be stored.
func (b *Broker) PublishWait(ctx context.Context, p *Pub) Ack {
	acks := make(chan Ack, 1)
	id := b.pubs.publish(p, acks)
	select {
	case a := <-acks:
		return a
	case <-ctx.Done():
		why := b.pubs.giveUp(id)
		return Ack{Pub: p, Err: errors.Join(ctx.Err(), why)}
	}
}
