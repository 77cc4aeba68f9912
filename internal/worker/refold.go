package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// refold makes the state of a session from all its inputs in the log. Where
// they do not reach back to its beginning it is held, or begun afresh if
// nothing of it is open.
func (r *restorer) refold(ctx context.Context, s *resident) error {
	s.log.base = snapshot.Point{}
	s.state, s.at = new(session.State), time.Time{}
	first, err := r.all.FirstEvent(ctx, s.token)
	if err != nil {
		return named(s.token, err)
	}
	if first.Prev != 0 {
		return r.giveUp(ctx, s, new(session.State), "its first events have expired")
	}
	err = r.replay(ctx, s, replaying{first: first.ID})
	if errors.Is(err, errUnlike) {
		return r.giveUp(ctx, s, new(session.State), "its inputs in the log do not give the events that are stored")
	}
	return err
}

// errUnlike is returned where inputs that are folded again do not give what was
// stored of them.
var errUnlike = errors.New("worker: the inputs do not give what is stored")

// replaying is the folding of a session's inputs that were folded before. The
// first fields are what it has to give.
type replaying struct {
	first events.ID // the first event; zero if not known
	upTo  uint64    // the input after which the state has to be want
	want  []byte

	r       *restorer
	s       *resident
	end     uint64 // inputs from it on are read again
	rules   *session.RulesLog
	reader  session.Reader
	reached bool // the last stored event is among what the inputs give
	began   bool
	unlike  bool
}

// replay folds the inputs of a session that its state does not cover and that
// are not read again. Events that the event log lacks are queued. It returns
// errUnlike where the inputs do not give what p asks for.
func (r *restorer) replay(ctx context.Context, s *resident, p replaying) (err error) {
	p.r, p.s, p.end = r, s, r.pos
	if n, ok := r.rewinds.Stored(p.upTo); ok {
		p.end = max(p.end, n+1) // the snapshot may be ahead of the position
	}
	if p.rules, err = r.pastRules(ctx); err != nil {
		return err
	}
	if lost, err := r.lostInputs(ctx, s); err != nil || lost {
		return cmp.Or(err, errUnlike)
	}
	l := &s.log
	seq, ok := r.rewinds.Stored(l.id.Seq)
	p.reached = l.id.Seq <= s.state.N || ok && seq >= r.pos
	if err := r.all.SessionInputs(ctx, s.token, p.input); err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("worker: session %q: folding it again: %w", s.token, err)
	}
	p.compareState()
	if !p.reached || p.unlike {
		l.queue, l.acked = nil, nil
		return errUnlike
	}
	s.snapshot.changed(r.checkpoint, s.touched)
	r.status.refolded.Add(1)
	return nil
}

// lostInputs reports whether the log lost inputs of a session, in a rewind, that
// its state does not cover: there are events of them.
func (r *restorer) lostInputs(ctx context.Context, s *resident) (lost bool, err error) {
	if len(r.rewinds) == 0 {
		return false, nil
	}
	err = r.all.Events(ctx, s.token, 0, func(e events.Record) error {
		_, ok := r.rewinds.Stored(e.ID.Seq)
		lost = lost || e.ID.Seq > s.state.N && !ok
		return nil
	})
	if err != nil {
		return false, named(s.token, err)
	}
	return lost, nil
}

func (p *replaying) input(in *inputs.Input) error {
	s := p.s
	if in.Seq >= p.end || p.unlike {
		return errEnough
	}
	n := p.r.rewinds.Effective(in.Seq)
	if in.Foreign || n <= s.state.N {
		return nil
	}
	if n > p.upTo {
		p.compareState()
	}
	out := session.Fold(nil, s.state, sessionInput(in, n, p.rules.Before(in.Seq).Rules, &p.reader))
	s.at = in.At
	for i := range out {
		if err := p.event(&out[i], in.Trace()); err != nil {
			return err
		}
	}
	return nil
}

func (p *replaying) event(e *events.Event, trace map[string]string) error {
	s := p.s
	o, err := newOutgoing(s, e, trace, new(bodies))
	if err != nil {
		return err
	}
	l := &s.log
	p.unlike = p.unlike || !p.began && p.first != (events.ID{}) && o.ID != p.first
	p.began = true
	p.reached = p.reached || o.ID == l.id
	l.compare(o, s.token, &p.r.reports)
	if o.ID.After(l.id) {
		l.queue = append(l.queue, o)
		return nil
	}
	l.keep(o, s.touched)
	if len(l.acked) > maxReplayed {
		l.base = snapshot.Point{Seq: l.acked[0].Seq, ID: l.acked[0].ID}
		l.acked = l.acked[1:]
	}
	return nil
}

// maxReplayed is how many stored events of a session that is folded again are
// kept, for what a power loss may still take.
const maxReplayed = 256

// compareState compares the state with the one that is wanted, once.
func (p *replaying) compareState() {
	if p.want == nil {
		return
	}
	got, err := p.s.state.Marshal()
	p.unlike = p.unlike || err != nil || !bytes.Equal(got, p.want)
	p.want = nil
}

// pastRules returns all changes of settings that are in the log.
func (r *restorer) pastRules(ctx context.Context) (*session.RulesLog, error) {
	usable := func(past *reading[*session.RulesLog]) bool {
		return past.epoch == r.epoch && past.value.Last().Seq >= r.rulesSeq
	}
	return r.past.get(ctx, r.epoch, usable, func(ctx context.Context) (*session.RulesLog, error) {
		return readRules(ctx, r.all, r.partition)
	})
}

// giveUp begins a session afresh that cannot be folded again, if nothing of it
// is open, and holds it otherwise. What old remembers is kept.
func (r *restorer) giveUp(ctx context.Context, s *resident, old *session.State, why string) error {
	var open session.OpenItems
	if err := r.all.Events(ctx, s.token, 0, open.AddStored); err != nil {
		return named(s.token, err)
	}
	if !open.Empty() {
		return r.hold(ctx, s, why)
	}
	r.sampled.Warn().Str("session", s.token).Str("why", why).Msg("session begun afresh: nothing of it was open")
	l := &s.log
	session.Recover(nil, old, session.Recovery{Next: events.ID{Seq: max(l.id.Seq, old.N)}, Open: open})
	s.state, s.at = old, time.Time{} // when the input was stored whose number it has is not known
	l.base, l.found = snapshot.Point{Seq: l.seq, ID: l.id}, found{}
	return r.replay(ctx, s, replaying{})
}

// hold notes in place of its snapshot that a session is held, so that every owner
// and `streamer recover` see it.
func (r *restorer) hold(ctx context.Context, s *resident, why string) error {
	h := snapshot.Header{Held: why}
	pub, _ := r.all.SnapshotPub(r.partition, s.token, s.snapshot.rev, h.Map(), nil)
	if a := r.all.PublishWait(ctx, pub); a.Err != nil {
		return fmt.Errorf("worker: session %q: holding it: %w", s.token, a.Err)
	}
	r.sampled.Error().Str("session", s.token).Str("why", why).Msg("snapshot lost and not to be made again; the session is held until `streamer recover --yes` closes its open calls")
	return &heldError{why}
}
