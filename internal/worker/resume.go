package worker

import (
	"time"

	"streamer/internal/events"
)

// An append that is refused although the log's end is where it was expected,
// in the same connection epoch, teaches nothing: the same answer would come to
// the next one at once, as long as the reads are wrong. Such an append is tried
// again after a pause that doubles.
const (
	futilePause = 20 * time.Millisecond
	futileMost  = 30 * time.Second
	futileTold  = 5 // refusals in a row until it is logged and the session counts as stuck
)

// paused are sessions whose next append waits. The zero value has none.
type paused struct {
	until map[*live]time.Time
	first time.Time // the earliest of until; zero if there is none
}

func (p *paused) add(l *live, until time.Time) {
	if p.until == nil {
		p.until = map[*live]time.Time{}
	}
	p.until[l] = until
	if p.first.IsZero() || until.Before(p.first) {
		p.first = until
	}
}

// due removes and returns the sessions whose pause is over.
func (p *paused) due(now time.Time) (due []*live) {
	if p.first.IsZero() || now.Before(p.first) {
		return nil
	}
	p.first = time.Time{}
	for l, until := range p.until {
		switch {
		case !now.Before(until):
			delete(p.until, l)
			due = append(due, l)
		case p.first.IsZero() || until.Before(p.first):
			p.first = until
		}
	}
	return due
}

// futile notes a refused append that taught nothing and lets the session pause.
func (q *partition) futile(l *live, id events.ID, why error) {
	l.futile++
	until := time.Now().Add(min(futilePause<<min(l.futile-1, 11), futileMost))
	q.paused.add(l, until)
	if l.futile == futileTold {
		q.z.Error().Err(why).Str("session", l.token).Stringer("event", id).Uint64("event_seq", l.chain).
			Msg("append refused again and again although the event log ends where it was expected to")
	}
}

// resume sends what waited.
func (q *partition) resume(now time.Time) {
	for _, l := range q.paused.due(now) {
		if !l.gone {
			q.send(l)
		}
	}
}
