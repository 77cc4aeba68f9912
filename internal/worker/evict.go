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
	var quiet []*live
	for _, l := range q.live {
		q.trim(l, now)
		switch age := now.Sub(l.touched); {
		case !l.idle():
		case age >= q.opts.EvictAfter:
			q.unload(l)
		case age >= q.opts.KeepAcked: // or busy sessions would come and go
			quiet = append(quiet, l)
		}
	}
	surplus := q.surplus()
	if surplus == 0 {
		return
	}
	slices.SortFunc(quiet, func(a, b *live) int { return a.touched.Compare(b.touched) })
	soon := events.At(now.Add(timerSoon))
	for _, l := range quiet {
		if at, ok := q.alarmOf(l); ok && at < soon {
			continue // it would be loaded again for that
		}
		if q.unload(l); surplus == 1 {
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
	own := len(q.live)
	q.m.sessions.Store(int64(own))
	all := q.w.resident()
	if all <= q.opts.MaxResident {
		return 0
	}
	return (own*(all-q.opts.MaxResident) + all - 1) / all
}

// resident returns how many sessions all partitions have in memory, as of when
// each of them last counted.
func (w *Worker) resident() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.meters {
		n += int(m.sessions.Load())
	}
	return n
}

// unload drops a session and keeps what is needed to wake it.
func (q *partition) unload(l *live) {
	if n := l.state.Life.Open(); n > 0 {
		q.asleep[l.token] = n
	}
	q.rearm(l)
	q.drop(l)
	q.remember(l)
}
