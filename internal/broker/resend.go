package broker

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxPatience bounds how long a publish waits for its answer before it is sent again.
const maxPatience = 10 * ackWait

type resend int

const (
	resendNow    resend = iota
	resendOldest        // if no older one of its stream is as late
	resendLater         // not before its due
)

// late returns what to do with a publish. While its stream answers earlier ones, the
// message is only in the queue of a slow server, and sending it again would make the
// queue longer: a server that receives everything again every few seconds stores
// nothing else. So of a stream that does not answer, only one publish is sent again.
// The answer to that shows which ones are lost.
func (p *inflights) late(f *inflight, now time.Time) resend {
	a := &p.streams[f.stream]
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

func (p *inflights) heard(no, place uint64) {
	p.mu.Lock()
	f := p.of[no]
	poke := f != nil && p.noteAnswer(f, place, time.Now())
	p.mu.Unlock()
	if poke {
		p.poke()
	}
}

// noteAnswer reports whether publishes may be due because of the answer to a try.
func (p *inflights) noteAnswer(f *inflight, place uint64, now time.Time) bool {
	s := &p.streams[f.stream]
	s.at, s.place = now, max(s.place, place)
	return place > f.no
}

func (p *inflights) resendLoop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-p.wake:
		case <-timer.C:
		}
		due, next := p.due(time.Now())
		p.b.counts.resent.Add(uint64(len(due)))
		for _, f := range due {
			p.send(f.pub, f.no, f.place)
		}
		select { // failing publishes are checked no more often
		case <-p.done:
			return
		case <-time.After(resendPace):
		}
		timer.Reset(next)
	}
}

// due returns the publishes to send again, oldest first, and the time until the next
// ones are due. A check of all costs less than keeping them in order: it happens at
// most once per resendPace, and never where nothing is in flight.
func (p *inflights) due(now time.Time) (due []*inflight, next time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next = time.Hour
	var oldest [len(p.streams)]*inflight
	for _, f := range p.of {
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
	slices.SortFunc(due, func(a, b *inflight) int { return int(int64(a.no - b.no)) })
	for _, f := range due {
		if !f.due.IsZero() { // else the connection was lost
			p.noteOutage(f, now)
		}
		p.last++
		f.place, f.tried, f.due, f.failed = p.last, now, now.Add(ackWait), false
		next = min(next, ackWait)
	}
	return due, next
}

func (p *inflights) replyTo(no, place uint64) string {
	b := append(make([]byte, 0, 64), p.inbox...)
	b = strconv.AppendUint(b, no, 36)
	if place != no {
		b = strconv.AppendUint(append(b, '-'), place, 36)
	}
	return string(b)
}

func (p *inflights) tryOf(subject string) (no, place uint64, ok bool) {
	first, last, again := strings.Cut(subject[len(p.inbox):], "-")
	no, err := strconv.ParseUint(first, 36, 64)
	if err != nil || !again {
		return no, no, err == nil
	}
	place, err = strconv.ParseUint(last, 36, 64)
	return no, place, err == nil
}
