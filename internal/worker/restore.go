package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/broker/eventlog"
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
	end        *eventlog.End // of the event log, nil if it has to be read
	last       point         // event that was found stored, if it was read
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
type unlikeError struct{ why string }

// Error returns in what the state does not fit.
func (e *unlikeError) Error() string { return "worker: the state does not fit: " + e.why }

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
	if s, err := r.fromEnd(ctx); s != nil || err != nil {
		return s, err
	}
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
	return r.fitTo(ctx, s, h, behind)
}

// fitTo is fit where the events behind those that the state covers are known.
func (r *restorer) fitTo(ctx context.Context, s *resident, h *head, behind []events.ID) error {
	l := s.log
	m := matching{restorer: r, session: s, log: &l, stored: append(slices.Clone(l.ahead), behind...)}
	queue := l.queue
	l.queue = nil
	covered := l.id
	l.head(r.token, h, &r.reports)
	if covered.After(l.id) {
		l.id = covered // its events have expired
	}
	if !l.found.id.After(covered) {
		l.found = foundEvent{}
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
	if err := m.recover(ctx, r.pos); err != nil {
		return err
	}
	if len(m.stored) > 0 && m.stored[0].Seq <= s.state.N {
		return m.unlike(m.stored[0])
	}
	l.ahead = m.stored
	s.log = l
	return nil
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
	return &unlikeError{fmt.Sprintf("its inputs in the log do not give event %s", id)}
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
	if err := m.recover(ctx, in.Seq); err != nil || in.Seq <= s.state.N {
		return err
	}
	if m.rules == nil {
		if m.rules, err = m.pastRules(ctx); err != nil {
			return err
		}
		m.status.refolded.Add(1)
	}
	out := session.Fold(nil, s.state, sessionInput(in, m.rules.Before(in.Seq).Rules, &m.reader))
	s.at = in.At
	s.snapshot.change(in.Seq, s.touched)
	return m.takeAll(out, in.Trace())
}

func (m *matching) takeAll(out []events.Event, trace map[string]string) error {
	for i := range out {
		o, err := newOutgoing(m.session, &out[i], trace, new(bodies))
		if err == nil {
			err = m.take(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recover closes what is open where the input of the next stored event is known to be lost:
// the session's inputs before seq were folded, and none gave it.
func (m *matching) recover(ctx context.Context, seq uint64) error {
	if len(m.stored) == 0 || m.stored[0].Seq >= seq {
		return nil
	}
	s, id := m.session, m.stored[0]
	n, open, err := m.lostEvents(ctx)
	if err != nil {
		return err
	}
	if n == 0 || s == m.memory || id.Seq <= s.state.N {
		return m.unlike(id)
	}
	end := m.stored[n-1]
	if m.stored = m.stored[n:]; len(m.stored) == 0 {
		m.log.found = foundEvent{} // it is of a lost input
	}
	m.sampled.Warn().Str("session", m.token).Stringer("event", id).Msg("inputs of the session were lost; its open calls are closed")
	out, err := m.beginAfresh(ctx, s, end.Seq, open)
	if err != nil {
		return err
	}
	return m.takeAll(out, nil)
}

// lostEvents returns how many of the next stored events are of lost inputs, and what these
// leave open. Where another owner has begun to close that, they end there. Where nothing is
// open, another owner may have gone on with the next input that is there. Otherwise the events
// behind were folded with the lost inputs, of which only some are missing in the log.
func (m *matching) lostEvents(ctx context.Context) (n int, open session.OpenItems, err error) {
	all := slices.IndexFunc(m.stored, func(id events.ID) bool { return id.N == recoveredFrom })
	if all < 0 {
		all = len(m.stored)
	}
	for ; n < all; n++ {
		if n > 0 && m.stored[n].Seq == m.stored[n-1].Seq {
			continue
		}
		if lost, err := m.lost(ctx, m.stored[n]); err != nil {
			return 0, open, err
		} else if !lost {
			break
		}
	}
	if n == 0 {
		return 0, open, nil
	}
	if open, err = m.openAt(ctx, m.stored[n-1]); err == nil && n < all && !open.Empty() {
		n = all
		open, err = m.openAt(ctx, m.stored[n-1])
	}
	return n, open, err
}

func (r *restorer) pastRules(ctx context.Context) (*session.RulesLog, error) {
	usable := func(past *reading[*session.RulesLog]) bool {
		return past.epoch == r.epoch && past.value.Last().Seq >= r.rulesSeq
	}
	return r.past.get(ctx, r.epoch, usable, func(ctx context.Context) (*session.RulesLog, error) {
		return readRules(ctx, r.log, r.partition)
	})
}

// giveUp returns a session of which no state fits. Where nothing is open it begins afresh,
// with what its snapshot remembers. Otherwise it is held.
func (r *restorer) giveUp(ctx context.Context, stored *broker.Snapshot, h *head, why *unlikeError) (*resident, error) {
	r.gaveUp = true
	open, err := r.openAt(ctx, h.last.ID)
	if err != nil {
		return nil, err
	}
	if !open.Empty() {
		return nil, &heldError{reason: why.why, first: true, rev: stored.Rev}
	}
	s, err := r.from(stored)
	if err != nil {
		s = r.empty(stored)
	}
	r.sampled.Warn().Str("session", r.token).Str("why", why.why).Msg("no state of the session fits its event log; session restarted, since nothing is open")
	if _, err := r.beginAfresh(ctx, s, max(h.last.ID.Seq, s.state.N), open); err != nil {
		return nil, err
	}
	s.log.seq, s.log.id = h.seq, h.last.ID
	return s, r.fit(ctx, s, h)
}

// recoveredFrom is the place in the input of the first event that closes an open item of
// lost inputs. Every owner that loads the session finds the same end of the loss by that.
const recoveredFrom = 1 << 20

// beginAfresh brings a session behind input n, with nothing open, and returns the events that
// close what was. No checkpoint covers that before the session is saved.
func (r *restorer) beginAfresh(ctx context.Context, s *resident, n uint64, open session.OpenItems) ([]events.Event, error) {
	r.gaveUp = true
	rules, err := r.pastRules(ctx)
	if err != nil {
		return nil, err
	}
	name, err := events.ParseToken(r.token)
	if err != nil {
		name = r.token
	}
	s.at = time.Time{} // when the input was stored whose number it has is not known
	s.snapshot.change(min(r.checkpoint, r.pos-1), s.touched)
	next := events.ID{Seq: n, N: recoveredFrom}
	return session.Recover(nil, s.state, session.Recovery{Session: name, Next: next, Open: open, Rules: rules.Before(n + 1).Rules}), nil
}

// openAt returns what the session's events up to one leave open.
func (r *restorer) openAt(ctx context.Context, id events.ID) (open session.OpenItems, err error) {
	err = r.log.Events(ctx, r.token, 0, func(e events.Record) error {
		if e.ID.After(id) {
			return errEnough
		}
		return open.AddStored(e)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return open, err
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
	r.sampled.Error().Str("session", r.token).Str("why", held.reason).Msg("snapshot lost and cannot be rebuilt; session held until `streamer recover --yes` closes its open calls")
	return held
}
