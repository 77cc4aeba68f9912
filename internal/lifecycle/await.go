package lifecycle

import (
	"fmt"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

func (st *Step) await(c *chunks.Chunk) {
	if c.ID != "" {
		if m, call := st.find(c.ID, "", c.Namespace); m != nil {
			st.awaitCall(m, call, c)
		}
		return
	}
	for m, call := range st.State.calls() {
		if within(m.Namespace, c.Namespace) && !call.Provider {
			st.awaitCall(m, call, c)
		}
	}
}

// endWait applies the end of a wait: the call that waits with this interrupt id has
// a deadline again. It has no effect where no call does.
func (st *Step) endWait(c *chunks.Chunk) {
	m, call := st.oldest(anywhere, func(_ *Message, call *Call) bool {
		return call.State.Status == events.AwaitingInput && call.State.interruptID() == c.InterruptID
	})
	if m == nil {
		return
	}
	s := &call.State
	s.resume()
	s.setDeadline(st.State.Time, st.Rules, call.Name)
	e := st.emitCall(events.ToolCallProgress, m, call)
	e.Status, e.Progress, e.Deadline = s.Status, clone(c.Text), at(s.Deadline)
}

// awaitCall is the transition of a call to awaiting_input. A call whose args are
// incomplete cannot wait for a person yet.
func (st *Step) awaitCall(m *Message, call *Call, c *chunks.Chunk) {
	s := &call.State
	if s.Status == events.BuildingArgs && (call.Whole() || s.Restated != chunks.NotRestated && c.ID != "") {
		st.completeArgs(m, call, "next")
	}
	if s.Status != events.ArgsComplete && (s.Status != events.AwaitingInput || s.interruptID() == c.InterruptID) {
		return
	}
	s.await(clone(c.InterruptID))
	s.setDeadline(st.State.Time, st.Rules, call.Name)
	e := st.emitCall(events.ToolCallAwaiting, m, call)
	e.Kind, e.InterruptID, e.Deadline = clone(c.Why), s.interruptID(), at(s.Deadline)
	st.setRequest(e, c)
}

// setRequest sets what the wire states of a question. One that is too long is reported, and
// asked without it. It may append an event, after which e is no longer valid.
func (st *Step) setRequest(e *events.Event, c *chunks.Chunk) {
	if limit := st.Rules.MaxEventText; len(c.Content) > limit {
		st.Reject(events.OverLimit, 0, fmt.Sprintf("request %q of %d bytes is longer than %d", c.InterruptID, len(c.Content), limit))
		return
	}
	e.Request = copied(c.Content)
}
