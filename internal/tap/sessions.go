package tap

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"

	"streamer/internal/final"

	"github.com/tidwall/gjson"
)

// Bounds of what the tap remembers.
const (
	maxLines  = 10_000
	maxTraces = 100_000
	maxKeys   = 2_000 // of one line
	maxOpen   = 5_000 // exchanges
)

// sessions is what the tap knows of conversations, and in which an answer was given.
type sessions struct {
	mu     sync.Mutex
	lines  recent[*line]    // by place
	shared recent[struct{}] // sessions that several conversations share
	traces recent[place]    // see traceOf
	open   []*exchange      // in the order in which they began
}

func newSessions() *sessions {
	return &sessions{lines: recent[*line]{max: maxLines}, traces: recent[place]{max: maxTraces}, shared: recent[struct{}]{max: maxLines}}
}

// names returns the sessions, in the order of their first requests.
func (s *sessions) names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.lines.order {
		if l, _ := s.lines.get(key); l.holder != nil && !slices.Contains(names, l.session) {
			names = append(names, l.session)
		}
	}
	return names
}

// enter adds an exchange and returns those of the same client that began before it.
func (s *sessions) enter(x *exchange) (before []*exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, y := range s.open {
		if y.scope == x.scope {
			before = append(before, y)
		}
	}
	s.open = append(s.open, x)
	return before
}

// size returns the number of open exchanges.
func (s *sessions) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// leave removes an exchange.
func (s *sessions) leave(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(y *exchange) bool { return y == x })
}

// place is where a message belongs.
type place struct {
	session   string
	namespace string // of an agent below the root, "" for the root
	parent    string // id of the call that caused that agent, "" if it is not known
}

func (p place) key() string { return p.session + "\x00" + p.namespace }

// line is a conversation: that of a session, or of an agent in it. One exchange has it at a
// time.
type line struct {
	place
	turn chan struct{} // has a value unless an exchange has the line
	// What follows is guarded by sessions.mu.
	holder   *exchange // that has the line, or had it last
	answered bool      // an answer of a model was seen
	last     string    // id of the last answer that arrived whole
	loaded   bool      // calls has those that the session had before
	agent    bool      // it is of an agent below the root: its human messages are tasks
	// Of this line and those beside it:
	keys  *recent[struct{}] // of the items that were published
	calls *recent[struct{}] // ids
}

// request is what the choice of a line depends on.
type request struct {
	identity
	upstream, scope string // scope is that of the names that the tap gives: the credentials of the client
	system          string
	items           []item
	want            final.Request
	unread          int // bytes of a request that was too large to be read
}

// begins reports whether a request begins a conversation that it does not name.
func (r *request) begins() bool {
	_, _, answered := tail(r.items, "")
	return r.session == "" && r.previous == "" && !answered
}

// line returns the line of a request. How it is chosen: by what the request states, by the
// answer that it follows, by the call whose args have its first message, and by the
// digest of its instructions and first message.
func (s *sessions) line(r *request) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := place{session: r.session, namespace: r.namespace}
	first := firstHuman(r.items)
	cause, caused := s.traces.get(traceOf(r.scope, "prompt", first))
	switch {
	case r.session != "":
		if caused && cause.session == r.session {
			at.parent = cause.parent
			if at.namespace == "" {
				at.namespace = cause.namespace
			}
		}
	default:
		p, ok := s.follows(r)
		switch {
		case ok:
			at = p
		case caused:
			at = cause
		default:
			at.session = s.name(r, first)
		}
	}
	l, ok := s.lines.get(at.key())
	if !ok {
		l = newLine(at)
		s.lines.set(at.key(), l)
	}
	return l
}

func newLine(at place) *line {
	l := &line{
		place: at, turn: make(chan struct{}, 1), agent: at.namespace != "",
		keys: &recent[struct{}]{max: maxKeys}, calls: &recent[struct{}]{max: maxKeys},
	}
	l.turn <- struct{}{}
	return l
}

// beside returns a line for a request whose conversation still has a stream. The request has
// its turn.
func (s *sessions) beside(l *line, id string) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := *l
	b.namespace = strings.TrimPrefix(l.namespace+"|", "|") + "requests|" + id
	b.turn = make(chan struct{}, 1)
	return &b
}

// hold records that an exchange has a line.
func (s *sessions) hold(l *line, x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.holder = x
}

// isNew reports whether no exchange has had a line.
func (s *sessions) isNew(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.holder == nil && !l.answered
}

// occupied records that the session of a line belongs to an earlier conversation.
func (s *sessions) occupied(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.answered = true
}

// streams reports whether the answer of the exchange that has a line still arrives.
func (s *sessions) streams(l *line) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.holder == nil {
		return false
	}
	ended, _ := l.holder.out.ended()
	return !ended
}

// addCalls adds the calls that a session had before.
func (s *sessions) addCalls(l *line, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		l.calls.set(id, struct{}{})
	}
	l.loaded = true
}

// follows returns the place of the answer that a request follows.
func (s *sessions) follows(r *request) (place, bool) {
	if p, ok := s.traces.get(traceOf(r.scope, "id", r.previous)); ok && r.previous != "" {
		return p, true
	}
	for i := len(r.items) - 1; i >= 0; i-- {
		it := &r.items[i]
		if it.role != model {
			continue
		}
		for _, id := range it.ids {
			if p, ok := s.traces.get(traceOf(r.scope, "call", id)); ok {
				return p, true
			}
		}
		if p, ok := s.traces.get(traceOf(r.scope, "text", it.text)); ok && it.text != "" {
			return p, true
		}
	}
	return place{}, false
}

// name returns the name of the session of a request that names none. A conversation that
// begins as one that was answered gets another number, unless it repeats its first request.
func (s *sessions) name(r *request, first string) string {
	digest := digestOf(r.upstream, "\x00", r.scope, "\x00", r.system, "\x00", first)
	base := r.upstream + "-" + hex.EncodeToString(digest[:5])
	name := base
	for n := 2; ; n++ {
		l, ok := s.lines.get(place{session: name}.key())
		if !ok || !r.begins() || !l.answered {
			return name
		}
		name = base + "-" + strconv.Itoa(n)
	}
}

// traceOf returns the key under which a place is found again: by the id of an answer, by the
// id of a call, by the text of an answer, or by a text in the args of a call.
func traceOf(scope, kind, value string) string {
	digest := digestOf(scope, "\x00", kind, "\x00", strings.TrimSpace(value))
	return string(digest[:16])
}

// minPrompt is the length from which a text in the args of a call can be the task of an agent.
const minPrompt = 12

// record records an answer.
func (s *sessions) record(l *line, scope string, a *answer, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.answered = true
	if whole {
		l.last = a.id
	}
	if a.id != "" {
		s.traces.set(traceOf(scope, "id", a.id), l.place)
	}
	if text := a.text.String(); strings.TrimSpace(text) != "" && len(a.calls) == 0 {
		s.traces.set(traceOf(scope, "text", text), l.place)
	}
	for _, c := range a.calls {
		if c.id != "" {
			s.recordCall(l, scope, c)
		}
	}
}

func (s *sessions) recordCall(l *line, scope string, c *answerCall) {
	l.calls.set(c.id, struct{}{})
	s.traces.set(traceOf(scope, "call", c.id), l.place)
	agent := place{session: l.session, namespace: strings.ReplaceAll(c.name, "|", "_") + "|" + c.id, parent: c.id}
	if l.namespace != "" {
		agent.namespace = l.namespace + "|" + agent.namespace
	}
	gjson.Parse(c.args.String()).ForEach(func(_, v gjson.Result) bool {
		if len(v.Str) >= minPrompt {
			s.traces.set(traceOf(scope, "prompt", v.Str), agent)
		}
		return true
	})
}

// news returns the items of a request that are to be published, with their keys. A result
// of a call that the session does not have is left out: the tap was not there.
func (s *sessions) news(l *line, r *request) (news []item, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, all, summary := l.tail(r)
	for i, it := range items {
		switch {
		case l.keys.has(all[i]), it.role == human && (summary || l.agent): // the task of an agent
			continue
		case it.role == result && len(it.ids) > 0 && !l.calls.has(it.ids[0]) && (l.loaded || l.answered):
			continue
		}
		l.keys.set(all[i], struct{}{})
		news, keys = append(news, it), append(keys, all[i])
	}
	return news, keys
}

// tail returns the new items of a request, their keys, and whether they are the summary of a
// conversation that became too long.
func (l *line) tail(r *request) (items []item, keys []string, summary bool) {
	after := ""
	if r.kept { // the same text may follow each answer
		after = cmp.Or(r.previous, l.last)
	}
	items, keys, answered := tail(r.items, after)
	return items, keys, r.agent && !answered && l.answered && !r.kept
}

// speaks returns the message of a person with which a request ends, "" where it ends with
// something else, or repeats what the conversation had. back has the ids of the calls whose
// results the request brings.
func (s *sessions) speaks(l *line, r *request) (spoken string, back []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, keys, summary := l.tail(r)
	for i, it := range items {
		spoken = ""
		switch {
		case it.role == result:
			back = append(back, it.ids...)
		case !l.agent && !summary && !r.apart && !l.keys.has(keys[i]):
			spoken = it.text
		}
	}
	return strings.Clone(spoken), slices.Clone(back)
}

// share records that a request begins a conversation like another one that is open, and that
// they cannot be distinguished.
func (s *sessions) share(l *line, r *request, x *exchange) {
	if !r.begins() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, y := range s.open {
		at := y.at.Load()
		if ended, _ := y.out.ended(); y != x && !ended && at != nil && *at == l.place {
			s.shared.set(l.session, struct{}{})
		}
	}
}

// Shared reports whether several conversations share a session, so that none of them can be
// stopped.
func (t *Tap) Shared(session string) bool {
	t.sessions.mu.Lock()
	defer t.sessions.mu.Unlock()
	return t.sessions.shared.has(session)
}

// at returns the open exchanges that a hold covers.
func (s *sessions) at(h *hold) (list []*exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.open {
		if at := x.at.Load(); at != nil && h.covers(at) {
			list = append(list, x)
		}
	}
	return list
}

// recordStopped records an answer that was ended, as the next requests repeat it: with the
// text of the stop behind what was said. The request that it answers may be repeated.
func (s *sessions) recordStopped(l *line, scope string, a *answer, said, text string) {
	s.mu.Lock()
	answered := l.answered
	s.mu.Unlock()
	s.record(l, scope, a, false)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.answered = answered
	if strings.TrimSpace(said) == "" {
		return
	}
	for _, all := range [...]string{said, said + text, said + "\n" + text, said + "\n\n" + text} {
		s.traces.set(traceOf(scope, "text", all), l.place)
	}
}
