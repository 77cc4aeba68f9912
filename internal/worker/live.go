package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
)

// live is a session in memory.
type live struct {
	token   string
	state   *session.State
	touched time.Time

	// The chain as we know it: its last message and event. Events up to id are
	// stored, by us or by somebody else who folded the same.
	chain uint64
	id    events.ID
	epoch uint64      // of the connection in which that was learned
	queue []*outgoing // events that are not stored yet, in order
	acked []outgoing  // the last that were, as long as a power loss may take them
	base  point       // of the event before acked and queue
	found found       // stored by somebody, and not folded by us yet

	rev    uint64    // of the saved state
	save   *save     // under way
	first  uint64    // first input that no acknowledged save covers, 0 if none
	second uint64    // first input that the save under way does not cover
	since  time.Time // the last save began, or the session changed first without one
	stuck  bool      // its next event was refused for good
	gone   bool      // dropped: acks that still come are nobody's
}

// point is a place in a chain.
type point struct {
	Seq uint64    `json:"seq"`
	ID  events.ID `json:"id"`
}

// folded notes that an input changed the state.
func (l *live) folded(seq uint64) {
	l.touched = time.Now()
	if l.first == 0 {
		l.first, l.since = seq, l.touched
	}
	if l.save != nil && l.second == 0 {
		l.second = seq
	}
}

// idle tells whether nothing of the session is only in memory.
func (l *live) idle() bool {
	return l.first == 0 && l.save == nil && len(l.queue) == 0
}

// record is a session as it is saved: the state after input N, the chain as it
// was then, and the events the chain may lack.
type record struct {
	State  json.RawMessage `json:"state,omitempty"`
	Chain  point           `json:"chain"`
	Base   point           `json:"base"`
	Events []outgoing      `json:"events,omitempty"`
}

// load gives a session, reading it back if it is not in memory. What the saved
// record holds and the chain lacks is queued again.
func (q *partition) load(ctx context.Context, token string) (*live, error) {
	if l := q.live[token]; l != nil {
		return l, nil
	}
	l := &live{token: token, state: new(session.State), touched: time.Now()}
	c := q.takeCold(ctx, token)
	if c.err != nil {
		return nil, c.err
	}
	l.epoch = c.epoch
	q.ends(l, c.end, c.last)
	if c.ok {
		if err := q.restore(ctx, l, c.saved); err != nil {
			return nil, err
		}
	}
	if err := q.reach(ctx, max(l.state.N, l.id.Seq)); err != nil {
		return nil, err
	}
	q.live[token] = l
	delete(q.asleep, token)
	q.wake(l)
	q.send(l)
	return l, nil
}

func (q *partition) restore(ctx context.Context, l *live, saved broker.State) error {
	var r record
	if err := json.Unmarshal(saved.Data, &r); err != nil {
		return fmt.Errorf("%w: snapshot of session %q: %w", broker.ErrDamaged, l.token, err)
	}
	state, err := session.Load(r.State)
	if errors.Is(err, session.ErrVersion) {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	if err != nil {
		return fmt.Errorf("%w: snapshot of session %q: %w", broker.ErrDamaged, l.token, err)
	}
	l.state, l.rev = state, saved.Rev
	if r.Base.ID.After(l.id) {
		var first uint64
		err := q.believed(ctx, func() (ok bool, err error) {
			l.epoch = q.log.Epoch()
			if err = q.chainEnd(ctx, l); err == nil {
				first, _, err = q.log.EventBounds(ctx)
			}
			return !r.Base.ID.After(l.id) || r.Base.Seq < first, err
		})
		if err != nil {
			return err
		}
		if r.Base.ID.After(l.id) && r.Base.Seq >= first {
			return fmt.Errorf("%w: session %q: its chain ends at event %s, its saved state reaches back to %s", ErrLost, l.token, l.id, r.Base.ID)
		}
		if r.Base.ID.After(l.id) {
			l.id = r.Base.ID // the chain expired
		}
	}
	l.base = r.Base
	if !l.found.id.After(l.base.ID) {
		l.found = found{} // from before what can be folded again
	}
	for i := range r.Events {
		e := &r.Events[i]
		e.session = l
		q.compare(e)
		if e.ID.After(l.id) {
			l.queue = append(l.queue, e)
			q.queued += e.size()
		} else {
			e.at = l.touched
			l.acked = append(l.acked, *e)
		}
	}
	return nil
}

// drop forgets a session that is in memory; it is loaded again on demand.
func (q *partition) drop(l *live) {
	l.gone = true
	if l.save != nil {
		q.saveOver(l.save)
	}
	for _, e := range l.queue {
		q.queued -= e.size()
	}
	delete(q.live, l.token)
}

// crowded is how many sessions a partition keeps in memory before those that are
// saved leave it sooner: after a burst they would take room for a minute.
const crowded = 10_000

// evict drops sessions that had no input for a while and are saved, and of
// the others what no power loss can take any more. Alarms stay set.
func (q *partition) evict(now time.Time) {
	after := q.opts.EvictAfter
	if len(q.live) > crowded {
		after /= 10
	}
	for _, l := range q.live {
		q.trim(l, now)
		if l.idle() && now.Sub(l.touched) >= after {
			if n := l.state.Life.Open(); n > 0 {
				q.asleep[l.token] = n
			}
			q.rearm(l)
			q.drop(l)
		}
	}
}

// header is what a listing of states tells without their data.
func (l *live) header(alarm lifecycle.Alarm, set bool) map[string]string {
	h := map[string]string{headerInput: fmt.Sprint(l.state.N), headerChain: l.id.String()}
	if n := l.state.Life.Open(); n > 0 {
		h[HeaderOpen] = fmt.Sprint(n)
	}
	if set {
		h[headerWake] = fmt.Sprint(int64(alarm.At))
	}
	if len(l.queue) > 0 {
		h[headerUnsent] = fmt.Sprint(len(l.queue))
	}
	return h
}
