package worker

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/broker/eventlog"
)

// ends are the ends of event logs that the takeover read, of the sessions that have events
// of inputs behind the checkpoint which no snapshot covers. A session is loaded from its end
// when the first of these inputs is read again, without a read of its event log.
type ends struct {
	of    map[string]*expected // by token, of the sessions that were not loaded yet
	epoch uint64               // of the connection in which they were read
	order []*expected          // by input, and some that were loaded
}

// expected is a session with events of an input that is to be read again, the first of
// those. It is 0 where the end does not show which that is.
type expected struct {
	token string
	input uint64
	end   *eventlog.End
}

// expect notes what the snapshots cover, and the ends of event logs that have more.
func (q *partition) expect(t *takeover) {
	heads := make(map[string]point, len(t.snapshots.stored))
	for i := range t.snapshots.stored {
		s := &t.snapshots.stored[i]
		heads[s.token] = point{s.HeadSeq, s.Head}
		q.table.of[s.token].covered = s.Input
	}
	q.ends = ends{of: map[string]*expected{}, epoch: t.epoch}
	for token, end := range t.recent.Ends {
		last, head := end.Last(), heads[token]
		if last.ID.Seq < t.checkpoint.Seq || point(last) == head || q.held.has(token) {
			continue
		}
		x := &expected{token: token, end: end}
		if behind, ok := end.After(head.Seq); ok && len(behind) > 0 {
			x.input = behind[0].ID.Seq
		} else {
			q.table.add(token) // something of it may be stored
		}
		q.ends.of[token] = x
		q.ends.order = append(q.ends.order, x)
	}
	slices.SortFunc(q.ends.order, func(a, b *expected) int {
		return cmp.Or(cmp.Compare(a.input, b.input), strings.Compare(a.token, b.token)) // a schedule must be repeatable
	})
}

// loadExpected loads the sessions whose first expected input was not read up to the position.
// Where it was lost, nothing else loads the session before its events have expired, and then
// it is not known what became of it.
func (q *partition) loadExpected() {
	o := &q.ends
	for len(o.order) > 0 && o.order[0].input < q.reading.pos {
		x := o.order[0]
		o.order[0], o.order = nil, o.order[1:]
		if o.of[x.token] != nil {
			q.load(x.token)
		}
	}
}
