package tap

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"streamer/internal/events"
	"streamer/internal/final"
	"streamer/internal/inputs"
)

// hold is what keeps a session, or a namespace in it, from its model: an interrupt.
type hold struct {
	session, namespace string
	number             uint64    // of all holds, in the order in which the tap saw them
	seq                uint64    // of its event
	input              uint64    // sequence of the interrupt
	text               string    // that its answers have
	began              time.Time // when the tap saw it
	next               time.Time // until then a message of a person does not lift it, the first time

	// Guarded by holds.mu. What its reports say, and when a client last got an end that does
	// not say why; zero if it got one that does since.
	out                []string
	answered, reported int64
	unsaid             time.Time
}

// covers reports whether a place is held.
func (h *hold) covers(p *place) bool {
	return h.session == p.session && (h.namespace == "" || h.namespace == p.namespace || strings.HasPrefix(p.namespace, h.namespace+"|"))
}

// holds is the state of all sessions, as the event log has it. A session without an entry runs.
type holds struct {
	mu      sync.Mutex
	by      map[string][]*hold // session → its holds
	lifted  recent[uint64]     // session → the last event that lifted its holds
	count   uint64
	size    atomic.Int64
	unknown atomic.Int64  // logs that are not read to their present end
	read    chan struct{} // closed when there are none
}

// maxLifted bounds the sessions of which the tap knows when they were lifted: the events of an
// interrupt and of what lifts it come from two readers.
const maxLifted = 10_000

// holdTypes are the types of the events that hold and lift.
var holdTypes = [...]events.Type{events.Interruption, events.Resumption, events.SessionErased}

// follow reads what holds and lifts from the log, until the tap is closed.
func (t *Tap) follow() {
	t.holds.by, t.holds.lifted.max, t.holds.read = map[string][]*hold{}, maxLifted, make(chan struct{})
	if t.opts.Follow == nil {
		close(t.holds.read)
		return
	}
	t.holds.unknown.Store(int64(len(holdTypes)))
	for _, typ := range holdTypes {
		t.following.Go(func() {
			err := t.opts.Follow(t.ctx, typ, t.change)
			if t.ctx.Err() == nil {
				t.opts.Log.Error().Err(err).Msg("the tap does not learn of stops anymore")
			}
		})
	}
}

// change applies an event of the log, at a sequence. A nil event is the present end of the log.
func (t *Tap) change(e *events.Event, seq uint64) {
	switch {
	case e == nil:
		if t.holds.unknown.Add(-1) == 0 {
			close(t.holds.read)
		}
	case e.Type != events.Interruption:
		t.holds.lift(e.Session, seq)
	case holding(e) && !t.Shared(e.Session):
		h := &hold{session: e.Session, seq: seq, input: e.Input, text: textOfStop(e.Reason), began: time.Now()}
		if e.Target != nil {
			h.namespace = e.Target.Namespace
			if e.Target.Run != "" && e.Run == "" { // the next one, which a person is about to begin
				h.next = e.Timestamp.Std().Add(stopWaits)
			}
		}
		if t.holds.add(h) {
			for _, x := range t.sessions.at(h) {
				x.halt(h)
			}
		}
	}
}

// stopWaits is the time for which an interrupt of the next run waits for it, as in package
// lifecycle.
const stopWaits = time.Minute

// holding reports whether an interrupt holds what it closed: a session, its open run or a
// namespace, and not single calls and messages.
func holding(e *events.Event) bool {
	t := e.Target
	if e.Binding != nil {
		return false
	}
	return t == nil || len(t.ToolCallIDs)+len(t.Calls)+t.More == 0 && t.MessageID == "" && (t.Run == "" || t.Run == e.Run || t.Run == "next")
}

func textOfStop(why *events.Reason) string {
	if why == nil || strings.TrimSpace(why.Detail) == "" {
		return "This run was stopped by an interrupt."
	}
	return "This run was stopped by an interrupt: " + strings.TrimRight(strings.TrimSpace(why.Detail), ".") + "."
}

// add adds a hold, in place of an earlier one of the same part, unless a later event has
// lifted it.
func (s *holds) add(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lifted, _ := s.lifted.get(h.session); lifted > h.seq {
		return false
	}
	s.count++
	h.number = s.count
	had := len(s.by[h.session])
	others := slices.DeleteFunc(s.by[h.session], func(o *hold) bool { return o.namespace == h.namespace })
	s.by[h.session] = append(others, h)
	s.size.Add(int64(len(others) + 1 - had))
	return true
}

// lift removes the holds of a session that are older than an event.
func (s *holds) lift(session string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := len(s.by[session])
	left := slices.DeleteFunc(s.by[session], func(h *hold) bool { return h.seq < seq })
	if s.by[session] = left; len(left) == 0 {
		delete(s.by, session)
	}
	s.size.Add(int64(len(left) - had))
	if last, _ := s.lifted.get(session); seq > last {
		s.lifted.set(session, seq)
	}
}

// of returns the hold of a place, nil if it runs.
func (s *holds) of(p *place) *hold {
	if p == nil || s.size.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.by[p.session] {
		if h.covers(p) {
			return h
		}
	}
	return nil
}

// seen returns the number of the last hold.
func (s *holds) seen() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// await waits until the log was read to the end that it had when the tap began, for a while:
// a tap without a log passes on what it gets.
func (s *holds) await(ctx context.Context) {
	if s.unknown.Load() <= 0 {
		return
	}
	select {
	case <-s.read:
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
}

// ownMessages is how long after a cut answer a message is one of the agent: qwen asks the model
// as its user to go on. A person has to read first that it was cut.
const ownMessages = 10 * time.Second

// lift ends the holds of a session because a person wrote to it. It reports false where the
// person wrote before one of them, or the interrupt was to meet this message.
func (t *Tap) lift(x *exchange, h *hold) bool {
	now := time.Now()
	t.holds.mu.Lock()
	early := h.number > x.since || now.Before(h.next) || now.Sub(h.unsaid) < ownMessages
	h.next = time.Time{}
	t.holds.mu.Unlock()
	if early {
		return false
	}
	t.holds.lift(h.session, h.seq+1)
	if t.holds.of(x.at.Load()) != nil {
		return false
	}
	t.tell(h, inputs.Resume, []byte(`{"by":"a new message of a person"}`))
	return true
}

// ended records that a hold ended an answer under way.
func (t *Tap) ended(h *hold, e *final.End) {
	t.holds.mu.Lock()
	if e.Cut || len(e.Out) > 0 && len(e.Tail) > 0 {
		h.unsaid = time.Now()
	}
	t.holds.mu.Unlock()
	t.report(h, e.Out, 0)
}

// report records the calls that were out when a hold came, and how many more requests it
// answered. It publishes both, ever more rarely.
func (t *Tap) report(h *hold, out []string, answered int64) {
	t.holds.mu.Lock()
	defer t.holds.mu.Unlock()
	more := h.out == nil
	for _, id := range out {
		if !slices.Contains(h.out, id) && len(h.out) < maxCallsOut {
			h.out, more = append(h.out, id), true
		}
	}
	if h.out == nil {
		h.out = []string{}
	}
	if h.answered += answered; answered > 0 {
		h.unsaid = time.Time{}
	}
	if more || h.answered >= 2*h.reported && h.answered > h.reported {
		h.reported = h.answered
		b := events.Binding{CallsOut: h.out}
		if answered := h.answered; answered > 0 {
			b.RequestsAnswered = &answered
		}
		body, _ := json.Marshal(map[string]any{"of": h.input, "binding": b}) // cannot fail
		t.tell(h, inputs.Interrupt, body)
	}
}

// Stopped returns since when a whole session of the tap is stopped, and how many requests the
// stop has answered; of several, the longest one. ok is false if there is none.
func (t *Tap) Stopped() (since time.Time, answered int64, ok bool) {
	for _, h := range t.stops() {
		if !ok || h.began.Before(since) {
			since, answered, ok = h.began, h.answered, true
		}
	}
	return since, answered, ok
}

// EndedProcess reports with the stops of the tap's sessions that the command ended.
func (t *Tap) EndedProcess() {
	for _, h := range t.stops() {
		body, _ := json.Marshal(map[string]any{"of": h.input, "binding": events.Binding{Process: "ended"}}) // cannot fail
		t.tell(h, inputs.Interrupt, body)
	}
}

// stops returns copies of what holds whole sessions of the tap.
func (t *Tap) stops() (list []*hold) {
	names := t.sessions.names()
	t.holds.mu.Lock()
	defer t.holds.mu.Unlock()
	for _, name := range names {
		for _, h := range t.holds.by[name] {
			if h.namespace == "" {
				list = append(list, &hold{session: h.session, input: h.input, began: h.began, answered: h.answered})
			}
		}
	}
	return list
}

// maxCallsOut bounds the calls that a report names.
const maxCallsOut = 100

// tell publishes an input about a hold, without waiting.
func (t *Tap) tell(h *hold, kind inputs.Kind, body []byte) {
	if t.ending.Load() {
		return
	}
	x := &exchange{tap: t, id: newID()}
	t.open.Go(func() { _ = x.publish(&line{place: place{session: h.session}}, kind, x.next(), nil, body) })
}
