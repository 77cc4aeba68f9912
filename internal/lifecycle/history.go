package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Some wires repeat the whole history of a session (LangGraph values and
// updates), or a message as a whole after they streamed it. The functions of this
// file find what is new in it.

// history returns which chunks of a frame are old and cause no events, or nil where
// the frame repeats nothing.
func (st *Step) history(frame []chunks.Chunk) (old []bool) {
	if !repeats(frame) {
		return nil
	}
	old = make([]bool, len(frame))
	known := st.knownUntil(frame)
	for i := range frame {
		c := &frame[i]
		old[i] = c.Repeated && (i < known && !st.restates(c) || isContent(c) && (c.Message == "" || st.State.Memory.hasMessage(c.Message)))
	}
	st.past(frame, old)
	return old
}

// restates reports whether a call of a repeated history is the statement as a whole that
// an open call waits for, or one beside it that only the history has.
func (st *Step) restates(c *chunks.Chunk) bool {
	if c.Kind != chunks.Fragment {
		return false
	}
	if m, call := st.find(c.ID, "", c.Namespace); m != nil {
		return call.State.Restated != chunks.NotRestated
	}
	return !st.State.Memory.used(c.ID) && slices.ContainsFunc(st.State.Messages, func(m *Message) bool {
		return m.Namespace == c.Namespace && m.has(c.Message) && m.any(func(call *Call) bool { return call.State.Restated != chunks.NotRestated })
	})
}

// historyEnd records that a snapshot came. The input with which a run starts is not
// one: the first snapshot of the run can follow.
func (st *Step) historyEnd(frame []chunks.Chunk) {
	st.begins = false
	if s := st.State; frame[0].Kind != chunks.RunStart && hasSnapshot(frame) {
		s.Turn = max(s.Turn, Listing)
	}
}

func isContent(c *chunks.Chunk) bool { return c.Kind == chunks.Text || c.Kind == chunks.Reasoning }

// repeats reports whether a frame has a part of a repeated history. It is called for
// every delta.
func repeats(frame []chunks.Chunk) bool {
	for i := range frame {
		if frame[i].Repeated {
			return true
		}
	}
	return false
}

func hasSnapshot(frame []chunks.Chunk) bool {
	return slices.ContainsFunc(frame, func(c chunks.Chunk) bool { return c.Snapshot })
}

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

// past finds what happened before the run, and marks it as old: it is remembered and
// not emitted. These are the calls that have results, and the messages without an
// open call. A call that is open in the session is not past, so its result is news.
func (st *Step) past(frame []chunks.Chunk, old []bool) {
	until := st.pastUntil(frame)
	calls := map[string][]int{} // the positions of the calls with an id that have no result yet
	for i := range frame[:until] {
		switch c := &frame[i]; {
		case old[i] || !c.Repeated:
		case isContent(c):
			old[i] = true
		case c.Kind == chunks.Fragment && c.ID != "":
			calls[c.ID] = append(calls[c.ID], i)
		case c.Kind == chunks.Result && c.ID != "":
			var k int
			k, calls[c.ID] = answered(frame, calls[c.ID])
			st.pastResult(frame, old, k, i)
		}
	}
	st.pastMessages(frame[:until], old)
}

// answered returns the position of the call that a result answers, of those with its
// id: the oldest of the newest message. It also returns the others. The position is -1
// where there is none.
func answered(frame []chunks.Chunk, calls []int) (pos int, others []int) {
	if len(calls) == 0 {
		return -1, nil
	}
	first := len(calls) - 1
	for first > 0 && frame[calls[first-1]].Message == frame[calls[first]].Message {
		first--
	}
	pos = calls[first]
	return pos, slices.Delete(calls, first, first+1)
}

// pastUntil returns the position in a repeated history before which the calls that
// have results are past.
//
// A snapshot at the beginning of a run has only what was there before. Where the wire
// does not state that a run begins, no run is open and the snapshot has no known
// message. In any other history of a new session, the results before the last human message are certainly
// past. After that message a call and its result can come together for the first
// time: a graph reports a subgraph that it does not stream in this way.
func (st *Step) pastUntil(frame []chunks.Chunk) int {
	s := st.State
	fresh := len(s.Messages)+len(s.Memory.Messages)+len(s.Memory.Closed) == 0
	begins := s.Turn == AtStart || s.Turn == Unknown && fresh ||
		frame[0].Kind == chunks.RunStart && (s.Run == nil || s.Run.ID != frame[0].Run)
	if s.Turn == UnderWay && s.Run == nil && hasSnapshot(frame) && !st.knowsAny(frame) {
		begins, s.Turn = true, Listing
	}
	if st.begins = begins && hasSnapshot(frame); st.begins {
		return len(frame)
	}
	if !fresh {
		return 0
	}
	turn := len(frame) - 1
	for turn > 0 && !(frame[turn].Kind == chunks.Human && frame[turn].Repeated) {
		turn--
	}
	return turn
}

func (st *Step) knowsAny(frame []chunks.Chunk) bool {
	return slices.ContainsFunc(frame, func(c chunks.Chunk) bool {
		id := c.Message
		if c.Kind == chunks.Human {
			id = c.ID
		}
		return c.Repeated && id != "" && st.State.Memory.hasMessage(id)
	})
}

// pastResult remembers a result of the past and the call that it answers, at the
// positions i and k; k is -1 where the history does not have the call.
func (st *Step) pastResult(frame []chunks.Chunk, old []bool, k, i int) {
	c := &frame[i]
	past := Closed{ID: clone(c.ID), Namespace: clone(c.Namespace)}
	if k < 0 {
		if m, _ := st.find(c.ID, "", c.Namespace); m != nil || st.State.Memory.used(c.ID) {
			return
		}
	} else {
		call := &frame[k]
		if m, _ := st.repeatedOpen(call); m != nil || st.repeatsClosedCall(call) || st.State.Memory.hasOrphan(c.ID) {
			return // an orphan came in the run, whose call is news too
		}
		old[k] = true
		past.Name, past.Message, past.Args = clone(call.Name), clone(call.Message), fingerprint([]byte(call.Args))
	}
	old[i] = true
	r := resultOf(c)
	past.Real = r.digest()
	st.State.Memory.close(past, st.Rules.MaxClosed)
}

func (st *Step) pastMessages(frame []chunks.Chunk, old []bool) {
	open := map[string]bool{}
	for i := range frame {
		if c := &frame[i]; !old[i] && c.Kind == chunks.Fragment {
			open[c.Message] = true
		}
	}
	for i := range frame {
		if c := &frame[i]; c.Repeated && c.Message != "" && !open[c.Message] {
			old[i] = true
			st.State.Memory.addMessage(clone(c.Message), st.Rules.MaxClosed)
		}
	}
}

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
	if m, i := st.repeatedOpen(c); m != nil {
		if i >= 0 {
			st.confirmOpen(m, i, c)
		}
		return i >= 0
	}
	return st.repeatsClosedCall(c)
}

// repeatedOpen returns the call of an open message that a whole call repeats, or nil.
// The position is -1 where the message has calls with that id, and the call is
// another one.
func (st *Step) repeatedOpen(c *chunks.Chunk) (*Message, int) {
	args := fingerprint([]byte(c.Args))
	for _, sameMessage := range []bool{true, false} {
		for _, m := range slices.Backward(st.State.Messages) { // ids repeat: the newest is meant
			if sameMessage && (!m.has(c.Message) || m.Namespace != c.Namespace) {
				continue
			}
			switch {
			case m.ByID(c.ID) < 0:
			case sameMessage:
				return m, st.repeatedIn(m, c, args)
			case !st.beside(c, m.ID):
				if i := st.equalIn(m, c, args); i >= 0 {
					return m, i
				}
			}
		}
	}
	return nil, -1
}

func (st *Step) repeatsClosedCall(c *chunks.Chunk) bool {
	args := fingerprint([]byte(c.Args))
	seen := c.Message != "" && st.State.Memory.hasMessage(c.Message)
	if n := st.State.Memory.closedIn(c.ID, c.Namespace, c.Message, ""); seen && n > 0 {
		return st.number(c) < n
	}
	return st.State.Memory.used(c.ID) && st.State.Memory.newest(func(old *Closed) bool {
		return old.ID == c.ID && (seen || old.Message == c.Message ||
			(c.Repeated || old.Run == st.State.LastRun) && sameCall(c, args, old.Args, old.Name) && !st.beside(c, old.Message))
	}) != nil
}

// sameCall reports whether a whole call with the fingerprint args has the name and the
// args of a known call. The args of the known call can be unknown.
func sameCall(c *chunks.Chunk, args, known uint64, name string) bool {
	return name == c.Name && (known == 0 || known == args)
}

// beside reports whether a repeated history has the message of a chunk and
// another one with the id message. Then they are two messages, and not one under
// two ids.
func (st *Step) beside(c *chunks.Chunk, message string) bool {
	return c.Message != message && slices.ContainsFunc(st.frame, func(o chunks.Chunk) bool { return o.Repeated && o.Message == message })
}

// confirmOpen completes a call that a full message repeats. Where the model was
// cut off in its args, the full message has a framework's guess at them, which is
// not used. A Final call is no part of a message, but the input of the tool.
func (st *Step) confirmOpen(m *Message, i int, c *chunks.Chunk) {
	call := &m.Calls[i]
	if call.State.Status != events.BuildingArgs || m.Truncated && !call.Whole() && !c.Final {
		return
	}
	same := m.has(c.Message) && m.Namespace == c.Namespace
	if same || !call.Contradicts(c.Args) { // a call of another message may have the same id
		if err := m.Confirm(i, c, st.Rules.limits()); err != nil {
			st.rejectFragment(m, i, c, err)
			return
		}
	}
	rewindSent(call)
	st.completeArgs(m, call, completedBy(c))
}
