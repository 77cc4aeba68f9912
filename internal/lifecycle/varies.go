package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
)

// Servers of Chat Completions do not agree on the id of a message: some change it
// after the first chunk, in the last one or in each. They do not agree on the role
// either, which may come once, in each chunk, and again with the usage after the
// finish reason. The functions of this file find the message that is meant
// (chunks.Chunk.IDVaries).

// continued returns the message that a chunk under an unknown id continues, or nil:
// the newest one of its choice that has no finish reason yet.
func (st *Step) continued(c *chunks.Chunk) *Message {
	if !c.IDVaries || c.Kind == chunks.Start || st.State.Memory.hasMessage(c.Message) {
		return nil
	}
	m := st.newest(c, Building)
	if m == nil || c.Kind == chunks.Fragment && namesNext(m, c) {
		return nil
	}
	st.addID(m, c.Message)
	return m
}

// newest returns the newest message of a chunk's namespace and choice in a phase whose
// id may change, or nil. A message of another format does not go on with the chunk.
func (st *Step) newest(c *chunks.Chunk, phase Phase) *Message {
	for _, m := range slices.Backward(st.State.Messages) {
		if m.Varies && m.Phase == phase && m.Choice == c.Choice && m.Namespace == c.Namespace {
			return m
		}
	}
	return nil
}

// addID records another id of a message, which is found under both from then on.
// A message of which nothing was emitted gets that id: some proxies send the first
// role under an id of their own. Otherwise events keep the first id.
func (st *Step) addID(m *Message, id string) {
	switch {
	case id == "" || m.has(id):
	case m.Quiet:
		m.ID, m.Alias, m.Renamed = clone(id), m.ID, true
		st.State.Memory.addMessage(m.ID, st.Rules.MaxClosed)
	default:
		m.Alias, m.Renamed = clone(id), false
	}
}

// unlessBeside returns m, or nil where the content of a chunk has the id of the role
// that m was renamed from: two messages are streamed side by side, and their roles came
// one after the other.
func (m *Message) unlessBeside(c *chunks.Chunk) *Message {
	if m == nil || !m.Renamed || c.Message != m.Alias || c.Kind == chunks.Start {
		return m
	}
	m.Alias, m.Renamed = "", false
	return nil
}

// restOfMuted reports whether a chunk under an unknown id is the rest of an interrupted
// message whose id changes.
func (st *Step) restOfMuted(c *chunks.Chunk) bool {
	mem := &st.State.Memory
	return c.IDVaries && c.Kind != chunks.Start && !mem.hasMessage(c.Message) && mem.muted(c.Namespace, "", st.State.Time)
}

func namesNext(m *Message, c *chunks.Chunk) bool {
	if c.Name == "" || c.Index == "" {
		return false
	}
	i := m.ByIndex(c.Index)
	return i >= 0 && m.Calls[i].Full()
}

// goesOn reports whether a fragment after the finish reason begins another call of the
// message. Some gateways send the reason after each call. A role begins the next message,
// and so do answers to all calls, unless the index goes on.
func goesOn(m *Message, c *chunks.Chunk) bool {
	if !c.IDVaries || m.Next || !m.hasClientCall() || !opens(m, c) {
		return false
	}
	return m.open() > 0 || c.Index != "" && m.ByIndex(c.Index) < 0
}

// repeatsRole applies a role. It reports true where the role begins no message: the
// message is open or has ended under this id, or the chunk closes it.
func (st *Step) repeatsRole(c *chunks.Chunk) bool {
	if m := st.current(c); m != nil {
		if m.Phase != Finishing || m.open() == 0 || !st.isWhole(c) {
			m.repeatRole()
		}
		st.State.Memory.Roles = st.State.Memory.Roles || m.Roles
		return true
	}
	if c.Message != "" && st.State.Memory.hasMessage(c.Message) {
		return true
	}
	closes := st.closes(c)
	m := st.newest(c, Building)
	if m != nil && !closes && !m.empty() {
		return false
	}
	if m == nil && closes {
		m = st.newest(c, Finishing)
	}
	if m == nil {
		return false
	}
	st.addID(m, c.Message)
	return true
}

// repeatRole records a role that comes again under an id of the message.
func (m *Message) repeatRole() {
	switch {
	case m.Phase == Building:
		m.Roles = m.Roles || !m.empty()
	case !m.Roles:
		m.Next = true
	}
}

// isWhole reports whether the stream event of a role has a call and a finish reason too.
// Some gateways send each call so. A model is not asked again before its calls are
// answered, so such an event goes on with a message that has open calls.
func (st *Step) isWhole(c *chunks.Chunk) bool {
	call, ends := false, false
	for i := range st.rest {
		if o := &st.rest[i]; o.Choice == c.Choice {
			call = call || o.Kind == chunks.Fragment
			ends = ends || o.Kind == chunks.Finish
		}
	}
	return call && ends
}

func (m *Message) empty() bool { return len(m.Calls) == 0 && m.Parts.N == 0 }

func (st *Step) closes(c *chunks.Chunk) bool {
	ends := false
	for i := range st.rest {
		switch o := &st.rest[i]; o.Kind {
		case chunks.Text, chunks.Reasoning, chunks.Fragment:
			if o.Choice == c.Choice {
				return false
			}
		case chunks.Finish, chunks.Usage:
			ends = true
		}
	}
	return ends
}

// overtake records that a message begins before the others of its choice have ended.
// They may be streamed beside it. A message whose calls have their results is over:
// some servers send no finish reason.
func (st *Step) overtake(m *Message) {
	for _, old := range st.State.Messages {
		if old != m && old.Phase == Building && old.Choice == m.Choice && old.Namespace == m.Namespace {
			old.Overtaken = true
		}
	}
	st.finishMessages(func(old *Message) bool { return old.Overtaken && old.Phase == Building && old.answered() })
}

// supersedeOvertaken supersedes the messages of which nothing came while a later
// message was streamed: their streams were abandoned. Those of which only the role came
// are dropped, and content that comes later begins them.
func (st *Step) supersedeOvertaken(m *Message) {
	s := st.State
	older := s.Messages[:slices.Index(s.Messages, m)]
	if !slices.ContainsFunc(older, func(old *Message) bool { return old.Overtaken }) {
		return
	}
	older = slices.Clone(older)
	abandoned := func(old *Message) bool {
		return old.Overtaken && old.Phase == Building && old.Choice == m.Choice && old.Namespace == m.Namespace && slices.Contains(older, old)
	}
	s.Messages = slices.DeleteFunc(s.Messages, func(old *Message) bool { return old.Quiet && old.empty() && abandoned(old) })
	st.supersede(abandoned)
}
