package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Human is a human message.
type Human struct {
	Namespace string
	ID        string
	Sent      int // bytes of its text that were emitted
	Joiner    chunks.Joiner
}

// human applies a human message: the calls before it are no longer expected to
// be answered. In a namespace it is the task of a subagent and affects that
// subagent only.
func (st *Step) human(c *chunks.Chunk) {
	s := st.State
	id := clone(c.ID)
	if c.ID != "" && c.Namespace != "" {
		id = c.Namespace + "|" + c.ID
	}
	s.Human = nil
	if id != "" && s.Memory.hasMessage(id) || id == "" && c.Repeated {
		return
	}
	s.Memory.addMessage(id, st.Rules.MaxClosed)
	if !c.Aside {
		st.interruptedBy(c)
	}
	if st.isNews(c) {
		s.Human = &Human{Namespace: clone(c.Namespace), ID: clone(c.ID)}
		st.emitHuman(c.Text)
	}
}

func (st *Step) interruptedBy(c *chunks.Chunk) {
	before := func(m *Message) bool {
		return within(m.Namespace, c.Namespace) && (!c.Repeated || !st.follows(m))
	}
	st.closeCalls(before, false, events.ByNewMessage, "")
	st.finishMessages(func(m *Message) bool { return m.Phase == Finishing && before(m) })
}

func (st *Step) follows(m *Message) bool {
	return m.ID != "" && slices.ContainsFunc(st.rest, func(c chunks.Chunk) bool { return c.Message == m.ID })
}

// isNews reports whether an unknown human message is new. One that a repeated history
// has is new if it is at the end of the history. Its answer can stand after it, except
// in a snapshot at the beginning of a run.
func (st *Step) isNews(c *chunks.Chunk) bool {
	if !c.Repeated {
		return true
	}
	answered := false
	for i := range st.rest {
		switch o := &st.rest[i]; {
		case o.Kind == chunks.Human:
			if answered {
				return false
			}
		case o.Message != "" || o.Kind == chunks.Result:
			if st.begins {
				return false
			}
			answered = true
		}
	}
	return true
}

// humanText applies more text of the last human message. Text of a message that was not
// emitted is not emitted either.
func (st *Step) humanText(c *chunks.Chunk) {
	if h := st.State.Human; h != nil && h.ID == c.ID && h.Namespace == c.Namespace {
		st.emitHuman(c.Text)
	}
}

func (st *Step) emitHuman(text string) {
	h := st.State.Human
	rest := []byte(h.Joiner.Join(text))
	for len(rest) > 0 {
		piece := prefix(rest, st.Rules.MaxEventText)
		e := st.emit(events.HumanMessage)
		e.Place = &events.Place{MessageID: h.ID, Namespace: h.Namespace}
		e.Role, e.Offset, e.Content = "user", events.OffsetAt(h.Sent), chunks.Shared(piece)
		h.Sent += len(piece)
		rest = rest[len(piece):]
	}
}
