package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// restorer loads one session as of the input before pos, as an operation. It takes the
// newest state that fits the session's event log: the one in memory, that of the
// snapshot, or the state before the first input. A state fits if the events behind those
// that it covers follow from it and from the session's inputs up to pos. So it does not
// matter why a state is old, or whether another worker was there meanwhile.
type restorer struct {
	reports
	log        Log
	past       *shared[*session.RulesLog]
	epoch      uint64 // of the connection when the load began
	rulesSeq   uint64 // of the last rules input that was read
	token      string
	pos        uint64 // inputs from it on are folded after the load
	checkpoint uint64
	memory     *resident     // nil if there is none
	place      place         // zero if not known
	last       events.Record // event that was found stored, if it was read
	gaveUp     bool          // no state fits what was read last
}

// heldError is returned for a session that only an operator can close.
type heldError struct {
	reason string
	first  bool   // it is not noted yet
	rev    uint64 // of what is stored in place of its snapshot
}

// Error returns why the session is held.
func (e *heldError) Error() string { return "worker: session held: " + e.reason }

// unlikeError is returned for a state that does not fit the event log.
type unlikeError struct {
	event events.ID // the first event that does not follow from the state, zero where one that it covers is missing
	why   string
}

// Error returns in what the state does not fit.
func (e *unlikeError) Error() string { return "worker: the state does not fit: " + e.why }

// head is where a session's event log ends.
type head struct {
	seq  uint64        // of the last message
	last events.Record // the last event, zero if there is none
}

// run returns the session. Where no state fits, the answers may be those of a server which
// was cut off from the others, and are asked for again.
func (r *restorer) run(ctx context.Context) (s *resident, err error) {
	held := (*heldError)(nil)
	failed := broker.Confirm(ctx, r.log.Replicated(), func() (bool, error) {
		r.gaveUp, held = false, nil
		s, err = r.load(ctx)
		return !errors.As(err, &held) && !r.gaveUp, nil
	})
	if failed != nil {
		return nil, failed
	}
	if errors.As(err, &held) && held.first {
		return nil, r.hold(ctx, held)
	}
	if err != nil && held == nil {
		err = fmt.Errorf("worker: session %q: %w", r.token, err)
	}
	return s, err
}

func (r *restorer) load(ctx context.Context) (*resident, error) {
	var h head
	var err error
	if r.memory != nil {
		if h, err = r.head(ctx); err != nil {
			return nil, err
		}
		if err = r.fit(ctx, r.memory, &h); !isUnlike(err) {
			return r.memory, err
		}
	}
	stored, ok, damaged, err := r.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if h := snapshot.ParseHeader(stored.Header); ok && h.Held != "" {
		return nil, &heldError{reason: h.Held}
	}
	if r.place.rev != 0 && r.place.rev == stored.Rev && damaged == nil {
		s, err := r.from(&stored)
		if err == nil {
			s.log.seq, s.log.id = r.place.head.Seq, r.place.head.ID
			return s, nil
		}
	}
	if h, err = r.head(ctx); err != nil {
		return nil, err
	}
	return r.fromStored(ctx, &stored, ok, damaged, &h)
}

// fromStored returns the session from what is stored.
func (r *restorer) fromStored(ctx context.Context, stored *broker.Snapshot, ok bool, damaged error, h *head) (*resident, error) {
	if ok {
		s, err := r.from(stored)
		if errors.Is(err, session.ErrVersion) {
			return nil, err
		}
		if damaged = err; err == nil {
			if err = r.fit(ctx, s, h); !isUnlike(err) {
				return s, err
			}
			damaged = err
		}
	}
	s := r.empty(stored)
	if h.last.ID != (events.ID{}) && damaged == nil && r.foldedAll(h) {
		damaged = errors.New("there is none, though there are events")
	}
	if damaged != nil {
		r.status.damaged.Add(1)
		r.sampled.Error().Err(damaged).Str("session", r.token).Msg("snapshot damaged; folding the session again from its inputs")
	}
	err := r.fit(ctx, s, h)
	if unlike := (*unlikeError)(nil); errors.As(err, &unlike) {
		return r.giveUp(ctx, stored, h, unlike)
	}
	return s, err
}

// foldedAll reports whether the checkpoint shows that a snapshot covered the last event.
func (r *restorer) foldedAll(h *head) bool { return h.last.ID.Seq < r.checkpoint }

func isUnlike(err error) bool {
	unlike := (*unlikeError)(nil)
	return errors.As(err, &unlike)
}

// snapshot reads the session's snapshot. damaged is why it cannot be read.
func (r *restorer) snapshot(ctx context.Context) (stored broker.Snapshot, ok bool, damaged, err error) {
	stored, ok, err = r.log.LoadSnapshot(ctx, r.partition, r.token)
	if errors.Is(err, broker.ErrDamaged) {
		damaged, err = err, nil
	}
	return stored, ok, damaged, err
}

func (r *restorer) head(ctx context.Context) (h head, err error) {
	h.seq, h.last, err = r.log.Head(ctx, r.token)
	r.last = h.last
	return h, err
}

// from returns the session as its snapshot has it.
func (r *restorer) from(stored *broker.Snapshot) (*resident, error) {
	state, err := snapshot.Load(stored.Data)
	if err != nil {
		return nil, err
	}
	s := r.empty(stored)
	h := snapshot.ParseHeader(stored.Header)
	s.state, s.at, s.snapshot.n = state, h.At, state.N
	s.log.seq, s.log.id = h.HeadSeq, h.Head
	return s, nil
}

// empty returns the session before its first input.
func (r *restorer) empty(stored *broker.Snapshot) *resident {
	s := newResident(r.token, new(session.State), time.Now())
	s.snapshot.rev, s.log.epoch, s.log.acked = stored.Rev, r.epoch, s.touched
	return s
}

// fit checks that a state fits the event log, which ends at h, and brings the session
// forward to pos. It returns an *unlikeError, and leaves the event log of s as it was,
// where the state does not fit.
func (r *restorer) fit(ctx context.Context, s *resident, h *head) error {
	behind, err := r.behind(ctx, &s.log, h)
	if err != nil {
		return err
	}
	l := s.log
	m := matching{restorer: r, session: s, log: &l, stored: behind}
	queue := l.queue
	l.queue = nil
	covered := l.id
	l.head(r.token, h.seq, &h.last, &r.reports)
	if covered.After(l.id) {
		l.id = covered // its events have expired
	}
	if !l.found.id.After(covered) {
		l.found = found{}
	}
	if l.epoch != r.epoch || l.seq != s.log.seq || len(behind) > 0 {
		l.acked = time.Now()
	}
	l.epoch = r.epoch
	for _, o := range queue {
		if err := m.take(o); err != nil {
			return err
		}
	}
	if s != r.memory { // which has all inputs that were read
		if err := m.forward(ctx); err != nil {
			return err
		}
	}
	if len(m.stored) > 0 {
		if m.stored[0].Seq < r.pos || m.stored[0].Seq <= s.state.N {
			return m.unlike(m.stored[0])
		}
		s.snapshot.changed(r.pos, s.touched) // no checkpoint covers their inputs before they are found
	}
	s.log = l
	return nil
}

// behind returns the ids of the events behind those that a state covers.
func (r *restorer) behind(ctx context.Context, l *eventLog, h *head) (ids []events.ID, err error) {
	if h.last.ID == l.id {
		return nil, nil
	}
	first, _, err := r.log.EventBounds(ctx)
	if err != nil {
		return nil, err
	}
	if l.id.After(h.last.ID) {
		if l.seq < first {
			return nil, nil // they have expired
		}
		r.status.damaged.Add(1)
		r.sampled.Error().Str("session", r.token).Stringer("event", h.last.ID).Stringer("want", l.id).Msg("the event log lost events of a session")
		return nil, &unlikeError{why: fmt.Sprintf("event %s is missing", l.id)}
	}
	begins := l.id == (events.ID{})
	err = r.log.Events(ctx, r.token, l.seq, func(e events.Record) error {
		if begins && len(ids) == 0 && e.Prev != 0 && e.Prev < first {
			return &unlikeError{event: e.ID, why: "its first events have expired"}
		}
		if e.Seq > h.last.Seq { // stored since
			return errEnough
		}
		if e.ID.After(l.id) {
			ids = append(ids, e.ID)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return ids, err
}

// matching compares the events that follow from a state with those that are stored, and
// queues the others.
type matching struct {
	*restorer
	session *resident
	log     *eventLog
	stored  []events.ID // that do not follow yet
	rules   *session.RulesLog
	reader  session.Reader
}

func (m *matching) unlike(id events.ID) error {
	return &unlikeError{event: id, why: fmt.Sprintf("its inputs in the log do not give event %s", id)}
}

// take takes the next event that follows from the state. One that is missing between
// stored ones cannot be appended any more.
func (m *matching) take(o *outgoing) error {
	if len(m.stored) > 0 && o.ID.After(m.stored[0]) {
		return m.unlike(m.stored[0])
	}
	m.log.compare(o, m.token, &m.reports)
	switch {
	case len(m.stored) == 0:
		m.log.queue = append(m.log.queue, o)
	case m.stored[0] == o.ID:
		m.stored = m.stored[1:]
		if m.session == m.memory {
			m.status.adopted.Add(1)
		}
	}
	return nil
}

// forward folds the inputs of the session that its state does not cover, up to pos.
func (m *matching) forward(ctx context.Context) error {
	s := m.session
	err := m.restorer.log.SessionInputs(ctx, m.token, s.state.N+1, func(in *inputs.Input) error {
		if in.Seq >= m.pos {
			return errEnough
		}
		return m.fold(ctx, in)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

func (m *matching) fold(ctx context.Context, in *inputs.Input) (err error) {
	s := m.session
	if in.Foreign || in.Seq <= s.state.N {
		return nil
	}
	if m.rules == nil {
		if m.rules, err = m.pastRules(ctx); err != nil {
			return err
		}
		m.status.refolded.Add(1)
	}
	out := session.Fold(nil, s.state, sessionInput(in, m.rules.Before(in.Seq).Rules, &m.reader))
	s.at = in.At
	s.snapshot.changed(in.Seq, s.touched)
	for i := range out {
		o, err := newOutgoing(s, &out[i], in.Trace(), new(bodies))
		if err == nil {
			err = m.take(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pastRules returns all changes of settings that are in the log.
func (r *restorer) pastRules(ctx context.Context) (*session.RulesLog, error) {
	usable := func(past *reading[*session.RulesLog]) bool {
		return past.epoch == r.epoch && past.value.Last().Seq >= r.rulesSeq
	}
	return r.past.get(ctx, r.epoch, usable, func(ctx context.Context) (*session.RulesLog, error) {
		return readRules(ctx, r.log, r.partition)
	})
}

// giveUp returns a session of which no state fits. Where its inputs are known to be lost,
// its open items are closed; where nothing is open it begins afresh. Otherwise it is held.
// What its snapshot remembers is kept.
func (r *restorer) giveUp(ctx context.Context, stored *broker.Snapshot, h *head, why *unlikeError) (*resident, error) {
	r.gaveUp = true
	s, err := r.from(stored)
	if err != nil {
		s = r.empty(stored)
	}
	end, open, err := r.endOfLoss(ctx, s.state.N, h)
	if err != nil {
		return nil, err
	}
	lost, err := r.lost(ctx, why.event)
	if err != nil {
		return nil, err
	}
	if !open.Empty() && !lost {
		return nil, &heldError{reason: why.why, first: true, rev: stored.Rev}
	}
	rules, err := r.pastRules(ctx)
	if err != nil {
		return nil, err
	}
	name, err := events.ParseToken(r.token)
	if err != nil {
		name = r.token
	}
	r.sampled.Warn().Str("session", r.token).Str("why", why.why).Bool("inputs_lost", lost).Msg("session begun afresh; its open calls are closed")
	next := events.ID{Seq: max(end.ID.Seq, s.state.N), N: recoveredFrom}
	out := session.Recover(nil, s.state, session.Recovery{Session: name, Next: next, Open: open, Rules: rules.Before(next.Seq + 1).Rules})
	s.at = time.Time{} // when the input was stored whose number it has is not known
	s.snapshot.changed(min(r.checkpoint, r.pos-1), s.touched)
	for i := range out {
		o, err := newOutgoing(s, &out[i], nil, new(bodies))
		if err != nil {
			return nil, err
		}
		s.log.queue = append(s.log.queue, o)
	}
	s.log.seq, s.log.id = end.Seq, end.ID
	return s, r.fit(ctx, s, h)
}

// recoveredFrom is the place in the input of the first event that closes an open item of
// lost inputs. Every owner that loads the session finds the same end of the loss by that.
const recoveredFrom = 1 << 20

// endOfLoss returns the end of the event log as of h, or where an owner began to close the
// items that were open, behind input n. open are the items that were.
func (r *restorer) endOfLoss(ctx context.Context, n uint64, h *head) (end point, open session.OpenItems, err error) {
	end = point{h.seq, h.last.ID}
	var before point
	err = r.log.Events(ctx, r.token, 0, func(e events.Record) error {
		if e.ID.N == recoveredFrom && e.ID.Seq > n && e.Seq <= h.last.Seq {
			end = before
		}
		before = point{e.Seq, e.ID}
		return nil
	})
	if err == nil {
		err = r.log.Events(ctx, r.token, 0, func(e events.Record) error {
			if e.ID.After(end.ID) {
				return errEnough
			}
			return open.AddStored(e)
		})
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return end, open, err
}

// lost reports whether the input of an event is known to be lost: the input log has
// nothing, a probe or an input of another session in its place.
func (r *restorer) lost(ctx context.Context, id events.ID) (bool, error) {
	if id == (events.ID{}) {
		return false, nil
	}
	first, last, err := r.log.InputBounds(ctx)
	if err != nil || id.Seq < first || id.Seq > last {
		return false, err
	}
	in, ok, err := r.log.Input(ctx, id.Seq)
	return err == nil && (!ok || in.Token != r.token), err
}

// hold notes in place of its snapshot that a session is held, so that every owner
// and `streamer recover` see it.
func (r *restorer) hold(ctx context.Context, held *heldError) error {
	h := snapshot.Header{Held: held.reason}
	pub, _ := r.log.SnapshotPub(r.partition, r.token, held.rev, h.Map(), nil)
	if a := r.log.PublishWait(ctx, pub); a.Err != nil {
		return fmt.Errorf("worker: session %q: holding it: %w", r.token, a.Err)
	}
	r.sampled.Error().Str("session", r.token).Str("why", held.reason).Msg("snapshot lost and not to be made again; the session is held until `streamer recover --yes` closes its open calls")
	return held
}
