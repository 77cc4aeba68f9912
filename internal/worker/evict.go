package worker

import (
	"slices"
	"time"

	"streamer/internal/events"
)

// evict drops the sessions that were quiet for EvictAfter. Where the worker has
// more than MaxResident, it also drops its share of the surplus, the quietest
// first. Only a session with a snapshot of its present state is dropped; its
// timer stays set.
func (q *partition) evict(now time.Time) {
	var quiet []*resident
	for _, s := range q.sessions.resident {
		s.log.trim(now, q.opts.KeepAcked)
		switch age := now.Sub(s.touched); {
		case !s.idle():
		case age >= q.opts.EvictAfter:
			q.unload(s)
		case age >= q.opts.KeepAcked: // or busy sessions would leave and return
			quiet = append(quiet, s)
		}
	}
	surplus := q.surplus()
	if surplus == 0 {
		return
	}
	slices.SortFunc(quiet, func(a, b *resident) int { return a.touched.Compare(b.touched) })
	soon := events.At(now.Add(timerSoon))
	for _, s := range quiet {
		if at, ok := q.clock.due(s, q.rules.inForce()); ok && at < soon {
			continue // it would be loaded again for that
		}
		if q.unload(s); surplus == 1 {
			return
		}
		surplus--
	}
}

// timerSoon is how long before its timer is due a session stays in memory.
const timerSoon = 10 * time.Second

// surplus returns how many sessions the partition should drop so that the worker
// has MaxResident: each partition drops in proportion to what it has.
func (q *partition) surplus() int {
	own := len(q.sessions.resident)
	q.status.sessions.Store(int64(own))
	all := q.w.resident()
	if all <= q.opts.MaxResident {
		return 0
	}
	return (own*(all-q.opts.MaxResident) + all - 1) / all
}

// resident returns how many sessions all partitions have in memory, as of when
// each of them last counted.
func (w *Worker) resident() (n int) {
	for _, st := range w.statuses.all() {
		n += int(st.sessions.Load())
	}
	return n
}

// unload drops a session and keeps what is needed to load it in time.
func (q *partition) unload(s *resident) {
	if n := s.state.Life.Open(); n > 0 {
		q.sessions.open[s.token] = n
	}
	q.clock.rearm(s, q.rules.inForce())
	q.drop(s)
	q.sessions.remember(s)
}
