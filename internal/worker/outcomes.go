package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/snapshot"
)

// outcomesAtOnce bounds the outcomes that are taken before the owner looks for
// anything else.
const outcomesAtOnce = 64

// landed takes the outcome of a publish and those that wait behind it.
func (q *partition) landed(ctx context.Context, a broker.Ack) error {
	for range outcomesAtOnce - 1 {
		if err := q.acked(ctx, a); err != nil {
			return err
		}
		select {
		case a = <-q.appender.acks:
		default:
			return nil
		}
	}
	return q.acked(ctx, a)
}

// acked takes the outcome of any publish of the partition.
func (q *partition) acked(ctx context.Context, a broker.Ack) error {
	q.appender.landed()
	switch key := a.Pub.Key.(type) {
	case *outgoing:
		return q.appended(ctx, key, a)
	case chunk:
		return q.appender.chunkStored(key.of, a.Err)
	case *snapshotWrite:
		return q.snapshotAcked(ctx, key, a)
	case clockAsk:
		return q.clock.stored(key, a)
	case nil:
		if a.Err != nil {
			return fmt.Errorf("worker: publishing %s: %w", a.Pub.Subject, a.Err)
		}
	}
	return nil
}

// appended takes the outcome of appending an event.
func (q *partition) appended(ctx context.Context, o *outgoing, a broker.Ack) error {
	s := o.session
	switch {
	case s.gone:
	case a.Err == nil:
		q.appender.stored(s, o, a.Seq)
	case errors.Is(a.Err, broker.ErrConflict) && s.fresh:
		q.reload(ctx, s)
	case errors.Is(a.Err, broker.ErrConflict):
		q.appender.readHead(ctx, s, &refusal{o, a.Pub.Epoch, a.Err})
	case errors.Is(a.Err, broker.ErrClosed):
		return a.Err
	default:
		q.appender.refused(s, o, a.Err)
	}
	return nil
}

// refusal is an append that was refused because the log had another head.
type refusal struct {
	event *outgoing
	epoch uint64 // in which its condition was learned
	err   error
}

// readHead begins to read where a session's event log ends. Nothing is appended
// to it meanwhile. why is nil where no append was refused.
func (a *appender) readHead(ctx context.Context, s *resident, why *refusal) {
	if s.log.reading {
		return
	}
	s.log.reading = true
	log, token := a.heads, s.token
	a.reads.start(ctx, func(ctx context.Context) completion {
		h := &sessionHead{session: s, refusal: why}
		h.epoch = log.Epoch()
		if h.seq, h.last, h.err = log.Head(ctx, token); h.err != nil {
			h.err = named(token, h.err)
		}
		return h
	})
}

// sessionHead is the outcome of readHead. Where the connection was lost since,
// the next append is refused unsent, and the head is read again.
type sessionHead struct {
	headRead
	session *resident
	refusal *refusal
	err     error
}

func (h *sessionHead) apply(_ context.Context, q *partition) error {
	s, l := h.session, &h.session.log
	l.reading = false
	if s.gone {
		return nil
	}
	if h.err != nil {
		return h.err
	}
	was, unsaved := l.seq, s.unsaved()
	if err := q.appender.adopt(s, &h.headRead, q.history.rewinds); err != nil {
		return err
	}
	if !unsaved && s.unsaved() { // the log lost events, which are appended again
		q.snapshots.changed.add(s)
	}
	if w := h.refusal; w != nil {
		if l.seq == was && l.epoch == w.epoch && len(l.queue) > 0 {
			q.appender.pause(s, w.event.ID, w.err)
			return nil
		}
		l.refusals = 0
	}
	q.appender.send(s)
	return nil
}

// snapshotAcked takes the outcome of writing a snapshot or a piece of it.
func (q *partition) snapshotAcked(ctx context.Context, w *snapshotWrite, a broker.Ack) error {
	s := w.session
	switch {
	case s.gone || s.snapshot.write != w:
	case a.Pub != w.pub:
		return q.snapshots.blobStored(w, a.Err)
	case a.Err == nil:
		q.snapshots.acked(w, a.Seq)
	case errors.Is(a.Err, broker.ErrConflict):
		q.status.snapshotConflicts.Add(1)
		q.snapshots.readStored(ctx, w)
	default:
		return fmt.Errorf("worker: session %q: writing its snapshot: %w", s.token, a.Err)
	}
	return nil
}

// readStored begins to read the snapshot that is stored where one of this worker
// was refused. The write is under way until then.
func (w *snapshotWriter) readStored(ctx context.Context, write *snapshotWrite) {
	log, p, token := w.stored, w.partition, write.session.token
	w.reads.start(ctx, func(ctx context.Context) completion {
		r := &storedSnapshot{write: write}
		r.state, r.ok, r.err = log.LoadSnapshot(ctx, p, token)
		return r
	})
}

// storedSnapshot is the outcome of readStored: the snapshot of another worker, or
// of a try of this one whose acknowledgement was lost.
type storedSnapshot struct {
	write *snapshotWrite
	state broker.Snapshot
	ok    bool
	err   error
}

// apply keeps the newer of the stored snapshot and the state in memory.
func (r *storedSnapshot) apply(ctx context.Context, q *partition) error {
	w, s := r.write, r.write.session
	if s.gone || s.snapshot.write != w {
		return nil
	}
	if errors.Is(r.err, broker.ErrDamaged) {
		q.snapshots.overwritten(s.token, r.err)
		r.err = nil
	}
	if r.err != nil {
		return named(s.token, r.err)
	}
	q.snapshots.end(w)
	if !r.ok {
		s.snapshot.rev = r.state.Rev // deleted or damaged: the next one takes its place
		return nil
	}
	h := snapshot.ParseHeader(r.state.Header)
	if h.Held != "" || s.fresh {
		q.reload(ctx, s)
		return nil
	}
	if h.Input == 0 { // damaged: the next one replaces it
		q.snapshots.overwritten(s.token, errors.New("its headers name no input"))
	}
	switch {
	case h.Input > s.state.N:
		s.snapshot.rev = r.state.Rev
		q.reload(ctx, s)
	case h.Input >= w.n:
		q.snapshots.newest = max(q.snapshots.newest, r.state.Rev)
		s.snapshot.covered(r.state.Rev, h.Unsent > 0)
	default:
		s.snapshot.rev = r.state.Rev // memory is newer: the next snapshot replaces it
	}
	return nil
}

// overwritten reports a snapshot that cannot be read and is written again from
// memory.
func (w *snapshotWriter) overwritten(token string, err error) {
	w.status.damaged.Add(1)
	w.sampled.Error().Err(err).Str("session", token).Msg("snapshot damaged; writing it again from memory")
}

// checkFresh loads sessions again that were assumed to be new and gave no event
// that would show it, before a snapshot of them is written.
func (q *partition) checkFresh(ctx context.Context, than time.Time) {
	q.sessions.fresh.take(than, func(s *resident) (keep bool) {
		if keep = s.fresh && len(s.log.queue) > 0; s.fresh && !keep {
			q.reload(ctx, s)
		}
		return keep
	})
}
