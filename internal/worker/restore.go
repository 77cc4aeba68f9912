package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"
)

// restore brings a session into memory from what was read of it: its snapshot
// and the end of its chain. Where the snapshot is missing, unreadable or older
// than what the mark relies on, or where the event log lost more than the
// snapshot holds, or where inputs are behind, the session's inputs are folded
// again.
func (q *partition) restore(ctx context.Context, l *live, c cold, behind bool) error {
	if c.err != nil {
		return c.err
	}
	if reason, is := c.saved.Header[headerHeld]; c.ok && is {
		q.held[l.token] = &held{reason: reason}
		return errHeld
	}
	if err := q.findHead(ctx, l, c); err != nil {
		return err
	}
	if !c.ok && c.damaged == nil {
		return q.unsaved(ctx, l, behind)
	}
	r, state, err := record{}, (*session.State)(nil), c.damaged
	if err == nil {
		r, state, err = readSnapshot(&c.saved)
	}
	if errors.Is(err, session.ErrVersion) {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	if err != nil {
		q.damaged(l.token, err)
		return q.refold(ctx, l)
	}
	l.state, l.at = state, savedAt(c.saved.Header)
	return q.continueFrom(ctx, l, &c.saved, r, behind)
}

// findHead notes where a session's log ends, and checks that the input log still
// has the input of its last event.
func (q *partition) findHead(ctx context.Context, l *live, c cold) error {
	l.rev = c.saved.Rev
	if c.left != nil {
		l.epoch, l.chain, l.id, l.found = c.left.epoch, c.left.chain, c.left.id, c.left.found
		return nil
	}
	l.epoch = c.epoch
	q.ends(l, c.end, c.last)
	if c.last.ID == (events.ID{}) {
		return nil
	}
	return q.verify(ctx, eventEvidence(&c.last))
}

// continueFrom brings a session whose snapshot was read to where the partition
// stands.
func (q *partition) continueFrom(ctx context.Context, l *live, saved *broker.State, r record, behind bool) error {
	if !l.at.IsZero() {
		if err := q.verify(ctx, evidence{n: l.state.N, token: l.token, at: l.at}); err != nil {
			return err
		}
	}
	short, err := q.chainShort(ctx, l, r.Base)
	if err != nil {
		return err
	}
	if short {
		return q.emitAgain(ctx, l, r)
	}
	q.resend(l, r)
	if q.outdated(l) {
		q.m.damaged.Add(1)
		q.sampled.Error().Str("session", l.token).Uint64("seq", l.state.N).Stringer("event", l.id).Msg("the snapshot is older than what was folded; folding the inputs since again")
	} else if !behind {
		return nil
	}
	err = q.replay(ctx, l, replaying{})
	if !errors.Is(err, errUnlike) {
		return err
	}
	_, state, err := readSnapshot(saved) // as it was before the replay
	if err != nil {
		return err
	}
	return q.giveUp(ctx, l, state, "its inputs since the snapshot do not give the events that are stored")
}

// emitAgain folds a session again whose events the event log lost, if its inputs
// give the state that was saved; the events that are missing are then appended
// again. Otherwise they stay lost, and the session goes on.
func (q *partition) emitAgain(ctx context.Context, l *live, r record) error {
	q.m.damaged.Add(1)
	q.sampled.Error().Str("session", l.token).Stringer("event", l.id).Stringer("want", r.Base.ID).Msg("the event log lost events of a session")
	saved, err := l.state.Marshal()
	if err != nil {
		return err
	}
	state, at := l.state, l.at
	l.base = point{}
	l.state, l.at = new(session.State), time.Time{}
	err = q.replay(ctx, l, replaying{upTo: state.N, saved: saved})
	if errors.Is(err, errUnlike) {
		q.sampled.Error().Str("session", l.token).Msg("its inputs in the log do not give what was saved; the lost events stay lost")
		l.state, l.at, l.queue, l.id = state, at, nil, r.Base.ID
		q.resend(l, r)
		err = nil
	}
	return err
}

// readSnapshot reads a saved record and the state in it.
func readSnapshot(saved *broker.State) (r record, s *session.State, err error) {
	if r, err = decodeSnapshot(saved.Data); err != nil {
		return r, nil, err
	}
	s, err = session.Load(r.State)
	return r, s, err
}

// savedAt returns when the last input of a snapshot was stored.
func savedAt(header map[string]string) time.Time {
	ns, err := strconv.ParseInt(header[headerAt], 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// damaged reports a snapshot that cannot be read.
func (q *partition) damaged(token string, err error) {
	q.m.damaged.Add(1)
	q.sampled.Error().Err(err).Str("session", token).Msg("snapshot damaged; folding the session again from its inputs")
}

// overwritten reports a snapshot that cannot be read and is written again from
// memory.
func (q *partition) overwritten(token string, err error) {
	q.m.damaged.Add(1)
	q.sampled.Error().Err(err).Str("session", token).Msg("snapshot damaged; writing it again from memory")
}

// chainShort reports whether the event log ends before what the snapshot can
// append again, and has not merely expired.
func (q *partition) chainShort(ctx context.Context, l *live, base point) (short bool, err error) {
	if !base.ID.After(l.id) {
		return false, nil
	}
	var first uint64
	err = q.believed(ctx, func() (ok bool, err error) {
		l.epoch = q.log.Epoch()
		if err = q.chainEnd(ctx, l); err == nil {
			first, _, err = q.log.EventBounds(ctx)
		}
		return !base.ID.After(l.id) || base.Seq < first, err
	})
	if err != nil || !base.ID.After(l.id) {
		return false, err
	}
	if base.Seq >= first {
		return true, nil
	}
	l.id = base.ID // the chain expired
	return false, nil
}

// resend queues the events of a snapshot that the chain lacks.
func (q *partition) resend(l *live, r record) {
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
}

// outdated reports whether events are stored of inputs that neither the snapshot
// covers nor will be read again.
func (q *partition) outdated(l *live) bool {
	if l.id.Seq <= l.state.N {
		return false
	}
	seq, ok := q.rewinds.Stored(l.id.Seq)
	return !ok || seq < q.pos
}

// unsaved restores a session without a snapshot. It is new where all its events
// are of inputs that are still to be read; else its snapshot was lost, or the
// inputs it was made of were.
func (q *partition) unsaved(ctx context.Context, l *live, behind bool) error {
	if l.id == (events.ID{}) {
		if behind {
			return q.replay(ctx, l, replaying{})
		}
		return nil
	}
	first, err := q.log.FirstEvent(ctx, l.token)
	if err != nil {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	seq, ok := q.rewinds.Stored(first.ID.Seq)
	_, whole := q.rewinds.Stored(l.id.Seq)
	if ok && whole && seq >= q.pos {
		return nil
	}
	if !behind || !ok || seq < q.mark.Seq {
		q.damaged(l.token, errors.New("there is none, though there are events"))
	}
	return q.refold(ctx, l)
}
