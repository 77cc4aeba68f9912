package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Some wires repeat the whole history of a session (LangGraph values and
// updates), or a message as a whole after they streamed it. The functions of this
// file find what is new in it.

// knownUntil returns the position in a repeated history before which everything
// is known: it comes before a message that the session remembers.
func (st *Step) knownUntil(frame []chunks.Chunk) int {
	last := -1
	for i := range frame {
		if c := &frame[i]; c.Repeated && c.Message != "" && st.State.Memory.hasMessage(c.Message) {
			last = i
		}
	}
	if last < 0 {
		return 0
	}
	for i := range frame {
		if frame[i].Message == frame[last].Message {
			return i
		}
	}
	return 0
}

// past finds the calls and results of former turns in a repeated history, in a
// new session: an old thread begins with all of it. The results before the last
// human message and the calls that they answer are certainly past. They are
// remembered and not emitted. It returns the positions of their chunks.
//
// After that message a call and its result can come together for the first time:
// a graph reports a subgraph that it does not stream in this way.
func (st *Step) past(frame []chunks.Chunk) map[int]bool {
	s := st.State
	if len(s.Messages)+len(s.Memory.Messages)+len(s.Memory.Closed) > 0 {
		return nil
	}
	turn := len(frame) - 1
	for turn > 0 && !(frame[turn].Kind == chunks.Human && frame[turn].Repeated) {
		turn--
	}
	positions, calls := map[int]bool{}, map[string]int{}
	for i := range frame[:turn] {
		switch c := &frame[i]; {
		case !c.Repeated:
		case c.Kind == chunks.Fragment && c.ID != "":
			calls[c.ID] = i
		case c.Kind == chunks.Result && c.ID != "":
			positions[i] = true
			old := Closed{ID: clone(c.ID), Namespace: clone(c.Namespace)}
			if k, ok := calls[c.ID]; ok {
				positions[k] = true
				delete(calls, c.ID)
				call := &frame[k]
				old.Name, old.Message, old.Args = clone(call.Name), clone(call.Message), fingerprint([]byte(call.Args))
				s.Memory.addMessage(old.Message, st.Rules.MaxClosed)
			}
			r := resultOf(c)
			old.Real = r.digest()
			s.Memory.close(old, st.Rules.MaxClosed)
		}
	}
	return positions
}

// resultOfHistory applies a result of a call that only a repeated history had.
func (st *Step) resultOfHistory(old *Closed, r Result) {
	if !r.repeated && old.Real != r.digest() {
		st.orphan(r, "")
	}
}

// confirm applies a call of a full message to the call that it repeats, open or
// closed. It reports false where the call is new. Providers repeat ids, and
// frameworks change those of messages, so across messages the args must be equal.
func (st *Step) confirm(c *chunks.Chunk) bool {
	if c.ID == "" {
		return false
	}
	args := fingerprint([]byte(c.Args))
	same := func(known uint64, name string) bool { return name == c.Name && (known == 0 || known == args) }
	for _, sameMessage := range []bool{true, false} {
		for _, m := range slices.Backward(st.State.Messages) { // ids repeat: the newest is meant
			if sameMessage && (m.ID != c.Message || m.Namespace != c.Namespace) {
				continue
			}
			if i := m.ByID(c.ID); i >= 0 && (sameMessage || same(m.Calls[i].State.Args, m.Calls[i].Name) && !st.beside(c, m.ID)) {
				st.confirmOpen(m, i, c)
				return true
			}
		}
	}
	seen := c.Message != "" && st.State.Memory.hasMessage(c.Message)
	return st.State.Memory.repeats(c.ID, func(old *Closed) bool {
		return seen || old.Message == c.Message ||
			(c.Repeated || old.Run == st.State.LastRun) && same(old.Args, old.Name) && !st.beside(c, old.Message)
	})
}

// beside reports whether a repeated history has the message of a chunk and
// another one with the id message. Then they are two messages, and not one under
// two ids.
func (st *Step) beside(c *chunks.Chunk, message string) bool {
	return c.Message != message && slices.ContainsFunc(st.frame, func(o chunks.Chunk) bool { return o.Repeated && o.Message == message })
}

// confirmOpen completes a call that a full message repeats. Where the model was
// cut off in its args, the full message has a framework's guess at them, which is
// not used.
func (st *Step) confirmOpen(m *Message, i int, c *chunks.Chunk) {
	call := &m.Calls[i]
	if call.State.Status != events.BuildingArgs || m.Truncated && !call.Whole() {
		return
	}
	if err := m.Confirm(i, c, st.Rules.limits()); err != nil {
		st.rejectFragment(m, i, c, err)
		return
	}
	rewindSent(call)
	st.completeArgs(m, call, completedBy(c))
}
