package worker

import (
	"context"
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

	at     time.Time // when the last input folded was stored
	fresh  bool      // taken to be new: nothing was read of it, and nothing is stored yet
	rev    uint64    // of the saved state
	save   *save     // under way
	first  uint64    // first input that no acknowledged save covers, 0 if none
	second uint64    // first input that the save under way does not cover
	since  time.Time // the last save began, or the session changed first without one
	unsent bool      // its snapshot says that events of it are not stored
	stuck  bool      // its next event was refused for good
	futile int       // appends in a row whose refusal taught nothing
	gone   bool      // dropped: acks that still come are nobody's
}

// point is a place in a chain.
type point struct {
	Seq uint64
	ID  events.ID
}

// folded notes that an input changed the state.
func (l *live) folded(in *broker.Input) {
	l.touched, l.at = time.Now(), in.At
	l.changed(in.Seq)
}

// changed notes that the state is another since the input stored at seq.
func (l *live) changed(seq uint64) {
	if l.first == 0 {
		l.first, l.since = seq, l.touched
	}
	if l.save != nil && l.second == 0 {
		l.second = seq
	}
}

// dirty reports whether the session needs another snapshot: for its state, or
// because the one it has says that events are unsent, which are stored now. The
// next owner of the partition would load the session for their sake.
func (l *live) dirty() bool {
	return l.first != 0 || l.unsent && len(l.queue) == 0
}

// idle reports whether nothing of the session is only in memory.
func (l *live) idle() bool {
	return !l.dirty() && l.save == nil && len(l.queue) == 0
}

// load returns a session, reading it back if it is not in memory. What the saved
// record holds and the chain lacks is queued again. A session of which nothing
// is known to be stored is taken to be new; a conflict shows where that is
// wrong. It returns errHeld for a session that only an operator can close.
func (q *partition) load(ctx context.Context, token string) (*live, error) {
	return q.loadFrom(ctx, token, false)
}

// loadFrom is load. behind says that inputs below the position may be missing
// from the snapshot.
func (q *partition) loadFrom(ctx context.Context, token string, behind bool) (*live, error) {
	if l := q.live[token]; l != nil {
		return l, nil
	}
	if q.held[token] != nil {
		return nil, errHeld
	}
	l := &live{token: token, state: new(session.State), touched: time.Now()}
	if q.known.has(token) {
		if err := q.restore(ctx, l, q.takeCold(ctx, token), behind); err != nil {
			return nil, err
		}
	} else {
		l.epoch, l.fresh = q.log.Epoch(), true
		q.known.add(token)
	}
	q.live[token] = l
	delete(q.asleep, token)
	delete(q.evicted, token)
	q.wake(l)
	q.send(l)
	return l, nil
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

// header is what a listing of states tells without their data.
func (l *live) header(alarm lifecycle.Timer, set bool) map[string]string {
	h := map[string]string{headerInput: fmt.Sprint(l.state.N), headerChain: l.id.String()}
	if !l.at.IsZero() {
		h[headerAt] = fmt.Sprint(l.at.UnixNano())
	}
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
