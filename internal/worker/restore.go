package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// restorer loads one session, as an operation: from its snapshot and the head of
// its event log. Where the snapshot is missing, unreadable or older than the
// checkpoint relies on, where the event log lost more than the snapshot has, or
// where inputs are behind, it folds the session's inputs again.
type restorer struct {
	reports
	inputCheck
	all        Log
	partition  int
	past       *shared[*session.RulesLog]
	pos        uint64 // inputs from it on are folded after the load
	checkpoint uint64
	epoch      uint64 // of the connection when the load began
	rulesSeq   uint64 // of the last rules input that was read
	least      uint64 // revision that the snapshot has at least
	repeated   bool   // the snapshot was older than the events, and was read again
	behind     bool   // inputs below pos may be missing from the snapshot
	place      *place // where the session stood when it left memory; nil if not known
}

// heldError is returned for a session that only an operator can close.
type heldError struct{ reason string }

// Error returns why the session is held.
func (e *heldError) Error() string { return "worker: session held: " + e.reason }

// rewoundError is returned where the input log has not the input any more that
// the evidence is of.
type rewoundError struct{ evidence evidence }

// Error returns which input it is.
func (e *rewoundError) Error() string {
	return fmt.Sprintf("worker: the input log was rewound below input %d", e.evidence.n)
}

// run returns the session.
func (r *restorer) run(ctx context.Context, token string) (*resident, error) {
	now := time.Now()
	s := &resident{token: token, state: new(session.State), touched: now, known: now}
	return s, r.restore(ctx, s)
}

// named adds the session to an error of reading its logs.
func named(token string, err error) error {
	return fmt.Errorf("worker: session %q: %w", token, err)
}

func (r *restorer) restore(ctx context.Context, s *resident) error {
	stored, ok, damaged, err := r.loadSnapshot(ctx, s.token)
	if err != nil {
		return named(s.token, err)
	}
	header := snapshot.ParseHeader(stored.Header)
	if ok && header.Held != "" {
		return &heldError{header.Held}
	}
	if err := r.findHead(ctx, s, &stored); err != nil {
		return err
	}
	if !ok && damaged == nil {
		return r.withoutSnapshot(ctx, s)
	}
	rec, state, err := snapshot.Record{}, (*session.State)(nil), damaged
	if err == nil {
		rec, state, err = snapshot.Load(stored.Data)
	}
	if errors.Is(err, session.ErrVersion) {
		return named(s.token, err)
	}
	if err != nil {
		r.damaged(s.token, err)
		return r.refold(ctx, s)
	}
	s.state, s.at = state, header.At
	return r.continueFrom(ctx, s, &stored, rec)
}

// loadSnapshot reads the snapshot of a session. damaged is the reason why it cannot be
// decoded. Where the answer is older than what is known to be stored, it is that of a
// server that was cut off from the others, or the stream lost its end: loadSnapshot
// reads again until that is decided. Events of inputs that such a snapshot lacks would
// differ from the fold, and only those of inputs that gave events would show it.
//
// While the connection lasts, the snapshot that the session left memory with is as good
// as the present one: where another worker wrote something meanwhile, the condition of
// the next write does not hold.
func (r *restorer) loadSnapshot(ctx context.Context, token string) (stored broker.Snapshot, ok bool, damaged, err error) {
	if p := r.place; p != nil && p.epoch == r.all.Epoch() && p.rev >= r.least {
		if stored, ok = r.all.RecallSnapshot(ctx, r.partition, token, p.rev); ok {
			return stored, true, nil, nil
		}
	}
	replicated := r.log.Replicated()
	err = confirm(ctx, replicated, func() (good bool, err error) {
		stored, ok, err = r.all.LoadSnapshot(ctx, r.partition, token)
		if damaged = nil; errors.Is(err, broker.ErrDamaged) {
			damaged, err = err, nil
		}
		if err == nil && stored.Rev == 0 && r.least > 0 && replicated {
			return r.all.SnapshotExpired(ctx, r.partition, token, r.least)
		}
		return stored.Rev >= r.least, err
	})
	return stored, ok, damaged, err
}

// findHead notes where a session's log ends, and checks that the input log still
// has the input of its last event. The head is not read where it is known from
// when the session left memory.
func (r *restorer) findHead(ctx context.Context, s *resident, stored *broker.Snapshot) error {
	l := &s.log
	s.snapshot.rev = stored.Rev
	if p := r.place; p != nil && p.rev == stored.Rev && p.epoch == r.all.Epoch() {
		l.epoch, l.seq, l.id = p.epoch, p.seq, p.id
		return nil
	}
	last, err := r.readHead(ctx, s)
	if err != nil || last.ID == (events.ID{}) {
		return err
	}
	return r.verify(ctx, eventEvidence(&last))
}

// readHead reads where a session's log ends.
func (r *restorer) readHead(ctx context.Context, s *resident) (events.Record, error) {
	s.log.epoch = r.all.Epoch()
	seq, last, err := r.all.Head(ctx, s.token)
	if err != nil {
		return last, named(s.token, err)
	}
	s.log.head(s.token, seq, &last, r.rewinds, &r.reports)
	return last, nil
}

// verify checks, where what was made of an input of a session is not behind the
// inputs that are folded, that the log still has that input. If not, the log was
// rewound, and what is folded counts from here on behind it.
func (r *restorer) verify(ctx context.Context, e evidence) error {
	if e.n < r.rewinds.Effective(r.pos) && !r.behind {
		return nil
	}
	good, err := r.intact(ctx, e)
	if err != nil || good {
		return err
	}
	return &rewoundError{e}
}

// continueFrom brings a session whose snapshot was read to where the partition
// stands.
func (r *restorer) continueFrom(ctx context.Context, s *resident, stored *broker.Snapshot, rec snapshot.Record) error {
	if !s.at.IsZero() {
		if err := r.verify(ctx, evidence{n: s.state.N, token: s.token, at: s.at}); err != nil {
			return err
		}
	}
	short, err := r.logShort(ctx, s, rec.Base)
	if err != nil {
		return err
	}
	if short {
		return r.emitAgain(ctx, s, rec)
	}
	r.requeue(s, rec)
	switch {
	case r.behind:
		// The events of another worker may be of inputs that its snapshot does not cover.
	case r.outdated(s) && r.log.Replicated() && !r.repeated:
		r.repeated, r.least = true, stored.Rev+1
		s.log, s.state, s.at = eventLog{}, new(session.State), time.Time{}
		return r.restore(ctx, s)
	case r.outdated(s):
		r.status.damaged.Add(1)
		r.sampled.Error().Str("session", s.token).Uint64("seq", s.state.N).Stringer("event", s.log.id).Msg("the snapshot is older than what was folded; folding the inputs since again")
	default:
		return nil
	}
	err = r.replay(ctx, s, replaying{})
	if !errors.Is(err, errUnlike) {
		return err
	}
	_, state, err := snapshot.Load(stored.Data) // as it was before the replay
	if err != nil {
		return err
	}
	return r.giveUp(ctx, s, state, "its inputs since the snapshot do not give the events that are stored")
}

// emitAgain folds a session again whose events the event log lost, if its inputs
// give the state of the snapshot; the events that are missing are then appended
// again. Otherwise they stay lost, and the session goes on.
func (r *restorer) emitAgain(ctx context.Context, s *resident, rec snapshot.Record) error {
	r.status.damaged.Add(1)
	r.sampled.Error().Str("session", s.token).Stringer("event", s.log.id).Stringer("want", rec.Base.ID).Msg("the event log lost events of a session")
	want, err := s.state.Marshal()
	if err != nil {
		return err
	}
	state, at := s.state, s.at
	s.log.base = snapshot.Point{}
	s.state, s.at = new(session.State), time.Time{}
	err = r.replay(ctx, s, replaying{upTo: state.N, want: want})
	if errors.Is(err, errUnlike) {
		r.sampled.Error().Str("session", s.token).Msg("its inputs in the log do not give the state of the snapshot; the lost events stay lost")
		s.state, s.at, s.log.queue, s.log.id = state, at, nil, rec.Base.ID
		r.requeue(s, rec)
		err = nil
	}
	return err
}

// damaged reports a snapshot that cannot be read.
func (r *restorer) damaged(token string, err error) {
	r.status.damaged.Add(1)
	r.sampled.Error().Err(err).Str("session", token).Msg("snapshot damaged; folding the session again from its inputs")
}

// logShort reports whether the event log ends before what the snapshot can append
// again, and has not merely expired.
func (r *restorer) logShort(ctx context.Context, s *resident, base snapshot.Point) (short bool, err error) {
	l := &s.log
	if !base.ID.After(l.id) {
		return false, nil
	}
	var first uint64
	err = confirm(ctx, r.log.Replicated(), func() (ok bool, err error) {
		if _, err = r.readHead(ctx, s); err == nil {
			first, _, err = r.all.EventBounds(ctx)
		}
		return !base.ID.After(l.id) || base.Seq < first, err
	})
	if err != nil || !base.ID.After(l.id) {
		return false, err
	}
	if base.Seq >= first {
		return true, nil
	}
	l.id = base.ID // the event log of the session expired
	return false, nil
}

// requeue queues the events of a snapshot that the event log lacks.
func (r *restorer) requeue(s *resident, rec snapshot.Record) {
	l := &s.log
	l.base = rec.Base
	if !l.found.id.After(l.base.ID) {
		l.found = found{} // from before what can be folded again
	}
	for i := range rec.Events {
		e := &outgoing{Event: *rec.Events[i], session: s}
		l.compare(e, s.token, &r.reports)
		if e.ID.After(l.id) {
			l.queue = append(l.queue, e)
		} else {
			e.at = s.touched
			l.acked = append(l.acked, e)
		}
	}
}

// outdated reports whether events are stored of inputs that neither the snapshot
// covers nor will be read again.
func (r *restorer) outdated(s *resident) bool {
	if s.log.id.Seq <= s.state.N {
		return false
	}
	seq, ok := r.rewinds.Stored(s.log.id.Seq)
	return !ok || seq < r.pos
}

// withoutSnapshot restores a session without a snapshot. It is new where all its
// events are of inputs that are still to be read; else its snapshot was lost, or
// the inputs it was made of were.
func (r *restorer) withoutSnapshot(ctx context.Context, s *resident) error {
	if s.log.id == (events.ID{}) {
		if r.behind {
			return r.replay(ctx, s, replaying{})
		}
		return nil
	}
	first, err := r.all.FirstEvent(ctx, s.token)
	if err != nil {
		return named(s.token, err)
	}
	seq, ok := r.rewinds.Stored(first.ID.Seq)
	_, whole := r.rewinds.Stored(s.log.id.Seq)
	if ok && whole && seq >= r.pos {
		if r.behind { // its inputs that were read may have given no events
			return r.replay(ctx, s, replaying{})
		}
		return nil
	}
	if !r.behind || !ok || seq < r.checkpoint {
		r.damaged(s.token, errors.New("there is none, though there are events"))
	}
	return r.refold(ctx, s)
}
