package worker

import (
	"slices"
	"time"
)

// evictor drops quiet sessions from memory.
type evictor struct {
	*sessions
	worker    *Worker
	status    *status
	after     time.Duration // Options.EvictAfter
	keepAcked time.Duration
	most      int // Options.MaxResident
}

// evict drops the sessions that were quiet for EvictAfter; they stay compressed.
// Where the worker has more than MaxResident, it also drops its share of the
// surplus, the quietest first. Only a session with a snapshot of its present state
// is dropped; its timer stays set.
func (e *evictor) evict(now time.Time) {
	var quiet []*resident
	for _, s := range e.resident {
		s.log.trim(now, e.keepAcked)
		switch age := now.Sub(s.touched); {
		case !s.idle():
		case age >= e.after:
			e.unload(s)
		case age >= e.keepAcked: // or busy sessions would leave and return
			quiet = append(quiet, s)
		}
	}
	surplus := e.surplus()
	if surplus == 0 {
		return
	}
	slices.SortFunc(quiet, func(a, b *resident) int { return a.touched.Compare(b.touched) })
	soon := e.clock.local(now.Add(timerSoon))
	for _, s := range quiet {
		if d, ok := e.clock.due(s); ok && d.next < soon {
			continue // it would be loaded again for that
		}
		if e.unload(s); surplus == 1 {
			return
		}
		surplus--
	}
}

// timerSoon is how long before its timer is due a session stays in memory.
const timerSoon = 10 * time.Second

// surplus returns how many sessions the partition should drop so that the worker
// has MaxResident: each partition drops in proportion to what it has.
func (e *evictor) surplus() int {
	own := len(e.resident)
	e.status.sessions.Store(int64(own))
	all := e.worker.resident()
	if all <= e.most {
		return 0
	}
	return (own*(all-e.most) + all - 1) / all
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
func (e *evictor) unload(s *resident) {
	e.clock.leave(s)
	e.drop(s)
	e.open.set(s.token, s.state.Life.Open())
	e.places.add(s)
	e.compressed.add(s)
}
