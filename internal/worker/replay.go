package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/session"
)

// refold makes the state of a session from all its inputs in the log. Where
// they do not reach back to its beginning it is held, or begun afresh if
// nothing of it is open.
func (q *partition) refold(ctx context.Context, l *live) error {
	l.base = point{}
	l.state, l.at = new(session.State), time.Time{}
	first, err := q.log.FirstEvent(ctx, l.token)
	if err != nil {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	if first.Prev != 0 {
		return q.giveUp(ctx, l, new(session.State), "its first events have expired")
	}
	err = q.replay(ctx, l, replaying{first: first.ID})
	if errors.Is(err, errUnlike) {
		return q.giveUp(ctx, l, new(session.State), "its inputs in the log do not give the events that are stored")
	}
	return err
}

// errUnlike is returned where inputs that are folded again do not give what was
// stored of them.
var errUnlike = errors.New("worker: the inputs do not give what is stored")

// replaying is a session whose inputs are folded again. The first fields say
// what has to come of it.
type replaying struct {
	first events.ID // the first event; zero if not known
	upTo  uint64    // the input after which the state has to be saved
	saved []byte

	q       *partition
	l       *live
	end     uint64 // inputs from it on are read again
	rules   *rulesLog
	reader  decode.Reader
	reached bool // the last stored event is among what the inputs give
	began   bool
	unlike  bool
}

// replay folds the inputs of a session that its state does not cover and that
// are not read again, because the position is behind them. Events that the
// chain lacks are queued. It returns errUnlike where the inputs do not give what
// r asks for.
func (q *partition) replay(ctx context.Context, l *live, r replaying) (err error) {
	r.q, r.l, r.end = q, l, q.pos
	if n, ok := q.rewinds.Stored(r.upTo); ok {
		r.end = max(r.end, n+1) // the snapshot may be ahead of the position
	}
	if r.rules, err = q.pastRules(ctx); err != nil {
		return err
	}
	if lost, err := q.lostInputs(ctx, l); err != nil || lost {
		return cmp.Or(err, errUnlike)
	}
	seq, ok := q.rewinds.Stored(l.id.Seq)
	r.reached = l.id.Seq <= l.state.N || ok && seq >= q.pos
	if err := q.log.SessionInputs(ctx, l.token, r.input); err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("worker: session %q: folding it again: %w", l.token, err)
	}
	r.compareSaved()
	if !r.reached || r.unlike {
		for _, o := range l.queue {
			q.queued -= o.size()
		}
		l.queue, l.acked = nil, nil
		return errUnlike
	}
	l.changed(q.mark.Seq)
	q.m.refolded.Add(1)
	return nil
}

// lostInputs reports whether the log lost inputs of a session, in a rewind, that
// its state does not cover: there are events of them.
func (q *partition) lostInputs(ctx context.Context, l *live) (lost bool, err error) {
	if len(q.rewinds) == 0 {
		return false, nil
	}
	err = q.log.Events(ctx, l.token, 0, func(s broker.Stored) error {
		_, ok := q.rewinds.Stored(s.ID.Seq)
		lost = lost || s.ID.Seq > l.state.N && !ok
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	return lost, nil
}

func (r *replaying) input(in *broker.Input) error {
	q, l := r.q, r.l
	if in.Seq >= r.end || r.unlike {
		return errEnough
	}
	n := q.rewinds.Effective(in.Seq)
	if in.Foreign || n <= l.state.N {
		return nil
	}
	if n > r.upTo {
		r.compareSaved()
	}
	out := session.Fold(nil, l.state, sessionInput(in, n, r.rules.before(in.Seq), &r.reader))
	l.at = in.At
	for i := range out {
		if err := r.event(&out[i], in.Trace()); err != nil {
			return err
		}
	}
	return nil
}

func (r *replaying) event(e *events.Event, trace map[string]string) error {
	l := r.l
	o, err := newOutgoing(l, e, trace)
	if err != nil {
		return err
	}
	r.unlike = r.unlike || !r.began && r.first != (events.ID{}) && o.ID != r.first
	r.began = true
	r.reached = r.reached || o.ID == l.id
	r.q.compare(o)
	if o.ID.After(l.id) {
		l.queue = append(l.queue, o)
		r.q.queued += o.size()
		return nil
	}
	o.at, o.Seq = l.touched, l.chain
	if l.acked = append(l.acked, *o); len(l.acked) > maxReplayed {
		l.base = point{l.acked[0].Seq, l.acked[0].ID}
		l.acked = l.acked[1:]
	}
	return nil
}

// maxReplayed is how many stored events of a session that is folded again are
// kept, for what a power loss may still take.
const maxReplayed = 256

// compareSaved compares the state with the one that was saved, once.
func (r *replaying) compareSaved() {
	if r.saved == nil {
		return
	}
	got, err := r.l.state.Marshal()
	r.unlike = r.unlike || err != nil || !bytes.Equal(got, r.saved)
	r.saved = nil
}

// pastRules returns all changes of settings that are in the log.
func (q *partition) pastRules(ctx context.Context) (*rulesLog, error) {
	if q.past != nil && q.past.last().seq >= q.rules.last().seq {
		return q.past, nil
	}
	past := new(rulesLog)
	if err := past.begin(broker.Mark{}); err != nil {
		return nil, err
	}
	first, _, err := q.log.InputBounds(ctx)
	if err != nil {
		return nil, err
	}
	err = q.log.RulesInputs(ctx, q.p, func(in *broker.Input) error {
		if err := past.set(in); errors.Is(err, ErrVersion) {
			return err
		}
		if len(past.places) == 2 && first > 1 {
			past.places[0].rules = past.places[1].rules // as repeated
		}
		return nil
	})
	q.past = past
	return past, err
}

// giveUp begins a session afresh that cannot be folded again, if nothing of it
// is open, and holds it otherwise. What old remembers is kept.
func (q *partition) giveUp(ctx context.Context, l *live, old *session.State, why string) error {
	lost := LostSession{Token: l.token}
	err := q.log.Events(ctx, l.token, 0, lost.add)
	if err != nil {
		return fmt.Errorf("worker: session %q: %w", l.token, err)
	}
	if !lost.Open.Empty() {
		return q.holdSession(ctx, l, why)
	}
	q.sampled.Warn().Str("session", l.token).Str("why", why).Msg("session begun afresh: nothing of it was open")
	session.Recover(nil, old, session.Recovery{Next: events.ID{Seq: max(l.id.Seq, old.N)}, Open: lost.Open})
	l.state = old
	l.base, l.found = point{l.chain, l.id}, found{}
	return q.replay(ctx, l, replaying{})
}
