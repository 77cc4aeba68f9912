package worker

import "time"

// foldedTo returns the position below which every input is folded.
func (q *partition) foldedTo() uint64 {
	if in := q.loads.oldest(); in != nil {
		return min(in.Seq, q.reading.pos)
	}
	return q.reading.pos
}

func (q *partition) reportPosition() {
	q.status.next.Store(q.foldedTo())
	at := int64(q.reading.at)
	if q.reading.caughtUp {
		at = 0
	}
	if in := q.loads.oldest(); in != nil {
		at = in.At.UnixMilli()
	}
	q.status.since.Store(at)
}

// measure puts into the status what is too expensive to count with each input.
func (q *partition) measure(now time.Time) {
	stuck, stored := map[*resident]bool{}, q.foldedTo()
	for s := range q.snapshots.changed.all { // others have no events to append
		if s.log.stuck || s.log.refusals >= refusalsLogged {
			stuck[s] = true
		} else if len(s.log.queue) > 0 {
			stored = min(stored, s.log.queue[0].ID.Seq)
		}
	}
	st := q.status
	st.sessions.Store(int64(q.table.order[live].Len()))
	st.stuck.Store(int64(len(stuck)))
	st.open.Store(int64(q.table.open))
	st.queued.Store(int64(q.appender.queued))
	st.checkpoint.Store(q.checkpoint.stored.Seq)
	st.next.Store(q.foldedTo())
	st.stored.Store(stored)
	st.beat.Store(now.UnixMilli())
	switch in, full := q.loads.oldest(), q.appender.queued > q.opts.MaxQueued; {
	case in != nil:
		st.since.Store(in.At.UnixMilli())
	case full:
		st.since.CompareAndSwap(0, now.UnixMilli())
	case q.reading.caughtUp:
		st.since.Store(0)
	}
}
