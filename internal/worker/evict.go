package worker

import (
	"time"

	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// evict packs live sessions that were not used for EvictAfter. Where the worker has more
// than MaxMemory, the partition frees its share of that.
func (q *partition) evict(now time.Time) {
	q.each(live, func(e *entry) bool {
		if now.Sub(e.used) < q.opts.EvictAfter {
			return false
		}
		q.pack(e, now)
		return true
	})
	t := &q.table
	all := t.all.Load()
	over := all - int64(q.opts.MaxMemory)
	if over <= 0 {
		return
	}
	least := t.bytes - over*t.bytes/all
	tooMany := func() bool { return t.bytes > least }
	q.each(packed, func(e *entry) bool {
		if !tooMany() {
			return false
		}
		q.lower(e)
		return true
	})
	q.each(known, func(e *entry) bool {
		if !tooMany() {
			return false
		}
		t.forget(e)
		return true
	})
	soon := q.clock.local(now.Add(timerSoon))
	q.each(live, func(e *entry) bool {
		if !tooMany() || now.Sub(e.used) < q.opts.DurableAfter { // or busy sessions would leave and return
			return false
		}
		if e.live == nil {
			return true
		}
		if d, ok := q.clock.due(e.live); !ok || d.next >= soon { // else it would be loaded again for that
			q.pack(e, now)
		}
		return true
	})
}

// timerSoon is how long before its timer is due a session stays live.
const timerSoon = 10 * time.Second

// each calls do with the sessions at a level, the least recently used first, until it
// returns false. do may move or forget the session.
func (q *partition) each(level int, do func(*entry) bool) {
	for at := q.table.order[level].Front(); at != nil; {
		e := at.Value.(*entry)
		at = at.Next()
		if !do(e) {
			return
		}
	}
}

// pack packs a live session if its snapshot and its event log have all of it.
func (q *partition) pack(e *entry, now time.Time) {
	s := e.live
	if s == nil || !s.idle() {
		return
	}
	q.clock.leave(s)
	s.gone, e.live = true, nil
	q.table.move(e, packed, now)
	if l := &s.log; s.snapshot.rev == 0 || l.stuck || l.found != (foundEvent{}) || len(l.ahead) > 0 {
		q.lower(e) // something about it is uncertain
		return
	}
	data, err := q.snapshots.encoder.Encode(s.state)
	if err != nil {
		q.lower(e)
		return
	}
	q.table.count(e, -1)
	e.data, e.at = data, s.at
	e.place = place{s.snapshot.rev, s.log.epoch, point{s.log.seq, s.log.id}}
	q.table.count(e, 1)
}

// lower makes a packed session one that is only known.
func (q *partition) lower(e *entry) {
	q.table.move(e, known, e.used)
	if q.clock.has(e.token) {
		q.table.leave(e) // it is needed when its timer is due
	}
}

// unpack returns a packed session, nil if that cannot be read. Where the connection was
// lost since, its event log has to be compared with what is stored.
func (q *partition) unpack(e *entry, now time.Time) *resident {
	if e.level != packed {
		return nil
	}
	state, err := snapshot.Load(e.data)
	if err != nil {
		return nil
	}
	s := newResident(e.token, state, now)
	s.at, s.snapshot.rev = e.at, e.place.rev
	s.log.seq, s.log.id, s.log.epoch = e.place.head.Seq, e.place.head.ID, e.place.epoch
	return s
}

func newResident(token string, state *session.State, now time.Time) *resident {
	return &resident{token: token, state: state, touched: now, known: now}
}
