package broker

import (
	"context"

	"github.com/nats-io/nats.go"
)

// Pub is a message to publish. It must not be changed until its Ack is there.
type Pub struct {
	Subject string
	Header  nats.Header
	Data    []byte
	Key     any // the caller's, untouched
}

// Ack is the outcome of a Pub.
type Ack struct {
	Pub       *Pub
	Seq       uint64 // in its stream, where Err is nil
	Duplicate bool   // the Nats-Msg-Id was known: Seq is the first one's
	// Err is nil, or Is one of ErrConflict, ErrTooLarge, ErrRefused, ErrClosed
	// (nobody knows whether it is stored).
	Err error
}

// Publish sends p and puts exactly one Ack into acks: stored, definitively
// refused, or closed. Until then it is sent again after every uncertain
// outcome. It does not block; acks should have room for all its sender has in
// flight, or their order is lost.
func (b *Broker) Publish(p *Pub, acks chan<- Ack) {}

// PublishWait sends p and waits for its outcome. If ctx ends before, p is sent
// no more, Err is ctx's error and nobody knows whether p is stored.
func (b *Broker) PublishWait(ctx context.Context, p *Pub) Ack { return Ack{Pub: p, Err: errTODO} }
