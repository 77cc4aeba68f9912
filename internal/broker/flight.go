package broker

import (
	"cmp"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

// maxPatience bounds how long a publish waits for its answer while its stream answers
// others.
const maxPatience = 10 * ackWait

// flight is a publish in flight.
type flight struct {
	msg  nats.Msg
	pub  *Pub
	acks chan<- Ack
	no   uint64
	try  int
	sent time.Time // for the first time
	due  time.Time // when it is sent again
	why  error     // the reason why it is not stored yet, where known

	stream int    // index of its stream in publisher.answers
	place  uint64 // in the order in which flights were sent last
	failed bool   // it was answered with a failure since it was sent last
}

// answers are the successful answers of a stream. A stream answers in the order in
// which it received the messages of a connection.
type answers struct {
	place uint64    // the greatest of a flight that was sent once
	at    time.Time // of the last answer
}

// patient returns until when a flight whose answer is late waits for it before it is
// sent again. As long as the stream answers flights that were sent earlier, the
// message is only in the queue of a slow server. Sending it again would make the
// queue longer: if all that are in flight are sent again, the server stores nothing
// else.
func (p *publisher) patient(f *flight, now time.Time) time.Time {
	a := &p.answers[f.stream]
	if f.failed || f.due.IsZero() || a.place > f.place || now.Sub(f.sent) >= maxPatience {
		return f.due
	}
	return a.at.Add(ackWait)
}

// answered notes the answer to a flight. The answer to a flight that was sent again
// may be that to an earlier try.
func (p *publisher) answered(f *flight, now time.Time) {
	a := &p.answers[f.stream]
	a.at = now
	if f.place == f.no {
		a.place = max(a.place, f.place)
	}
}

// due returns the flights to send again, oldest first, and the time until the next
// ones are due. A check of all flights costs less than keeping them in order: it
// happens at most once per resendPace, and never where nothing is in flight.
func (p *publisher) due(now time.Time) (due []*flight, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next = time.Hour
	for _, f := range p.flights {
		if !f.due.After(now) {
			f.due = p.patient(f, now)
		}
		if wait := f.due.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		if !f.due.IsZero() { // else the connection was lost
			p.outages.failed(f.pub.Subject, len(f.pub.Data), cmp.Or(f.why, errSilentAck), now)
		}
		due = append(due, f)
		f.due, f.failed = now.Add(ackWait), false
		next = min(next, ackWait)
	}
	slices.SortFunc(due, func(a, b *flight) int { return int(int64(a.no - b.no)) })
	for _, f := range due {
		p.last++
		f.place = p.last
	}
	return due, next
}
