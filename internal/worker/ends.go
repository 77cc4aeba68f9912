package worker

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"streamer/internal/broker/eventlog"
)

// ends are the ends of event logs that the takeover read, of the sessions that have events
// of inputs behind the checkpoint which no snapshot covers. A session is loaded from its end
// when the first of these inputs is read again, without a read of its event log.
type ends struct {
	of    map[string]*eventlog.End // of the sessions that were not loaded yet
	epoch uint64                   // of the connection in which they were read
	order []expected               // by input, and others that were loaded since
}

// expected is the first input that is to be read again of a session.
type expected struct {
	input uint64
	token string
}

// take removes and returns the end of a session, nil if there is none.
func (o *ends) take(token string) *eventlog.End {
	end := o.of[token]
	delete(o.of, token)
	return end
}

// before removes and returns the sessions whose first input should have been read before a
// position, and that were not loaded. Where their inputs were lost, nothing else loads them
// before the events have expired, and then it is not known what became of them.
func (o *ends) before(pos uint64) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(o.order) > 0 && o.order[0].input < pos {
			token := o.order[0].token
			if o.order = o.order[1:]; o.of[token] != nil && !yield(token) {
				return
			}
		}
	}
}

// expect notes what the snapshots cover, and the ends of event logs that have more.
func (q *partition) expect(t *takeover) {
	heads := make(map[string]point, len(t.snapshots.stored))
	for i := range t.snapshots.stored {
		s := &t.snapshots.stored[i]
		heads[s.token] = point{s.HeadSeq, s.Head}
		q.table.of[s.token].covered = s.Input
	}
	q.ends = ends{of: map[string]*eventlog.End{}, epoch: t.epoch}
	for token, end := range t.recent.Ends {
		last, head := end.Last(), heads[token]
		if last.ID.Seq < t.checkpoint.Seq || point(last) == head || q.held.has(token) {
			continue
		}
		first := last
		if i := slices.IndexFunc(end.Events, func(e eventlog.Stored) bool { return e.ID.After(head.ID) }); i >= 0 {
			first = end.Events[i]
		}
		q.ends.of[token] = end
		q.ends.order = append(q.ends.order, expected{first.ID.Seq, token})
	}
	slices.SortFunc(q.ends.order, func(a, b expected) int {
		return cmp.Or(cmp.Compare(a.input, b.input), strings.Compare(a.token, b.token)) // a schedule must be repeatable
	})
}
