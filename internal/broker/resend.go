package broker

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPatience bounds how long a publish waits for its answer before it is sent again.
const maxPatience = 10 * ackWait

// flight is a publish in flight.
type flight struct {
	pub  *Pub
	acks chan<- Ack
	no   uint64
	try  int
	sent time.Time // for the first time
	due  time.Time // when it is sent again
	why  error     // the reason why it is not stored yet, where known

	stream int       // index of its stream in publisher.answers
	place  uint64    // of the last try in the order of all tries; of the first, it is no
	tried  time.Time // when the last try was sent
	failed bool      // the last try was answered with a failure
}

// answers are the answers of a stream. A stream answers in the order in which it
// received the messages of a connection.
type answers struct {
	place uint64    // the greatest of a try that was answered
	at    time.Time // of the last answer
}

// resend is what to do with a flight at a time.
type resend int

const (
	resendNow    resend = iota
	resendOldest        // if no older flight of its stream is as late
	resendLater         // not before flight.due
)

// late returns what to do with a flight. While its stream answers earlier flights, the
// message is only in the queue of a slow server, and sending it again would make the
// queue longer: a server that receives everything again every few seconds stores
// nothing else. So of a stream that does not answer, only one flight is sent again.
// The answer to that shows which flights are lost.
func (p *publisher) late(f *flight, now time.Time) resend {
	a := &p.answers[f.stream]
	if f.failed || f.due.IsZero() {
		if f.due.After(now) {
			return resendLater
		}
		return resendNow
	}
	waited := now.Sub(f.tried)
	switch {
	case waited < ackWait:
		return resendLater
	case a.place > f.place, waited >= maxPatience:
		return resendNow
	case f.due.After(now):
		return resendLater
	case now.Sub(a.at) < ackWait:
		f.due = a.at.Add(ackWait)
		return resendLater
	}
	f.due = now.Add(ackWait)
	return resendOldest
}

// answered notes the answer to a try of a flight. It reports whether flights may be
// due because of it.
func (p *publisher) answered(f *flight, place uint64, now time.Time) bool {
	a := &p.answers[f.stream]
	a.at, a.place = now, max(a.place, place)
	return place > f.no
}

// due returns the flights to send again, oldest first, and the time until the next
// ones are due. A check of all flights costs less than keeping them in order: it
// happens at most once per resendPace, and never where nothing is in flight.
func (p *publisher) due(now time.Time) (due []*flight, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next = time.Hour
	var oldest [len(p.answers)]*flight
	for _, f := range p.flights {
		switch p.late(f, now) {
		case resendNow:
			due = append(due, f)
		case resendOldest:
			if o := oldest[f.stream]; o == nil || f.place < o.place {
				oldest[f.stream] = f
			}
			next = min(next, ackWait)
		case resendLater:
			next = min(next, f.due.Sub(now))
		}
	}
	for _, f := range oldest {
		if f != nil {
			due = append(due, f)
		}
	}
	slices.SortFunc(due, func(a, b *flight) int { return int(int64(a.no - b.no)) })
	for _, f := range due {
		p.again(f, now)
		next = min(next, ackWait)
	}
	return due, next
}

// again begins another try of a flight.
func (p *publisher) again(f *flight, now time.Time) {
	if !f.due.IsZero() { // else the connection was lost
		p.outages.failed(f, cmp.Or(f.why, errSilentAck), now)
	}
	p.last++
	f.place, f.tried, f.due, f.failed = p.last, now, now.Add(ackWait), false
}

// replyTo returns the subject of the answer to a try of a flight.
func (p *publisher) replyTo(no, place uint64) string {
	b := append(make([]byte, 0, 64), p.inbox...)
	b = strconv.AppendUint(b, no, 36)
	if place != no {
		b = strconv.AppendUint(append(b, '-'), place, 36)
	}
	return string(b)
}

// tryOf returns the flight and the place of the try of which an answer is.
func (p *publisher) tryOf(subject string) (no, place uint64, ok bool) {
	first, last, again := strings.Cut(subject[len(p.inbox):], "-")
	no, err := strconv.ParseUint(first, 36, 64)
	if err != nil || !again {
		return no, no, err == nil
	}
	place, err = strconv.ParseUint(last, 36, 64)
	return no, place, err == nil
}
