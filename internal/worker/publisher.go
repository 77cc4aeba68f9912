package worker

import "streamer/internal/broker"

// maxFlights bounds the publishes of a partition that are under way. With more of them
// a server stores no faster, and each waits longer. The channel of their outcomes has
// room for all of them, so that the broker never waits for the owner, not even after
// the owner has ended.
const maxFlights = 512

// publisher publishes the messages of a partition. Their outcomes arrive on acks.
type publisher struct {
	out     Publisher
	acks    chan broker.Ack
	flights int           // publishes without an outcome yet
	waiting []*broker.Pub // until one of these has its outcome
}

func newPublisher(out Publisher) publisher {
	return publisher{out: out, acks: make(chan broker.Ack, maxFlights)}
}

// publish publishes a message, at once or when one under way has its outcome.
func (p *publisher) publish(pub *broker.Pub) {
	if p.flights == maxFlights {
		p.waiting = append(p.waiting, pub)
		return
	}
	p.flights++
	p.out.Publish(pub, p.acks)
}

// landed notes that an outcome arrived.
func (p *publisher) landed() {
	p.flights--
	if len(p.waiting) == 0 {
		p.waiting = nil
		return
	}
	next := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	p.publish(next)
}
