package worker

import "time"

// An append that is refused although the head is where it was expected, in the
// same connection epoch, shows nothing new: as long as the reads are wrong, the
// next append would be refused at once as well. Such an append is repeated after
// a pause that doubles.
const (
	refusalPause   = 20 * time.Millisecond
	refusalMost    = 30 * time.Second
	refusalsLogged = 5 // refusals in a row from which they are logged and the session counts as stuck
)

// pausedAppends are sessions whose next append waits. The zero value has none.
type pausedAppends struct {
	until map[*resident]time.Time
	first time.Time // the earliest of until; zero if there is none
}

func (p *pausedAppends) add(s *resident, until time.Time) {
	if p.until == nil {
		p.until = map[*resident]time.Time{}
	}
	p.until[s] = until
	if p.first.IsZero() || until.Before(p.first) {
		p.first = until
	}
}

// due removes and returns the sessions whose pause is over.
func (p *pausedAppends) due(now time.Time) (due []*resident) {
	if p.first.IsZero() || now.Before(p.first) {
		return nil
	}
	p.first = time.Time{}
	for s, until := range p.until {
		switch {
		case !now.Before(until):
			delete(p.until, s)
			due = append(due, s)
		case p.first.IsZero() || until.Before(p.first):
			p.first = until
		}
	}
	return due
}

// pause delays the next append of a session after a refusal that showed nothing
// new.
func (a *appender) pause(s *resident, why *refusal) {
	l := &s.log
	l.refusals++
	until := time.Now().Add(min(refusalPause<<min(l.refusals-1, 11), refusalMost))
	a.paused.add(s, until)
	if l.refusals == refusalsLogged {
		a.logger.Error().Err(why.err).Str("session", s.token).Stringer("event", why.event.ID).Uint64("event_seq", l.seq).
			Msg("append refused repeatedly although the event log ends where it was expected to")
	}
}

// resume sends the appends whose pause is over.
func (a *appender) resume(now time.Time) {
	for _, s := range a.paused.due(now) {
		if s.loading = false; !s.gone {
			a.send(s)
		}
	}
}
