package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Interrupt is a request to close open calls. Each field that is set narrows
// what it closes; with all empty it closes everything.
type Interrupt struct {
	Reason    string
	IDs       []string // provider ids
	Calls     []string // our own names
	MessageID string
	HasMsg    bool // MessageID is meant, even ""
	Run       string
}

// means reports whether an interrupt covers calls of a message.
func (in *Interrupt) means(m *Message) bool {
	return (in.Run == "" || m.Run == in.Run) && (!in.HasMsg || m.ID == in.MessageID)
}

// Interrupt closes the calls it covers. One that names no call mutes the
// messages that are being built, too, and one that names no message either
// ends the run. What it names and does not find open is reported.
func (st *Step) Interrupt(in Interrupt) {
	in.Reason = st.brief(in.Reason)
	if len(in.IDs)+len(in.Calls) > 0 {
		st.interruptCalls(&in)
		st.sweep()
		return
	}
	from := len(st.Out)
	st.closeCalls(func(m *Message, _ *Call) bool { return in.means(m) }, events.ByInterrupt, in.Reason)
	st.mute(in.means)
	if run := st.State.Run; run != nil && !in.HasMsg && (in.Run == "" || run.ID == in.Run) {
		st.endRun(events.Cancelled, &events.Reason{Code: events.ByInterrupt, Text: runText(events.ByInterrupt), Detail: in.Reason})
	}
	if len(st.Out) == from && (in.HasMsg || in.Run != "") {
		st.unmatched(interruptKind, in.target(nil, nil))
	}
	st.sweep()
}

// interruptCalls closes the calls an interrupt names.
func (st *Step) interruptCalls(in *Interrupt) {
	var ids, calls []string // those that name no open call
	from := len(st.Out)
	for _, id := range in.IDs {
		if !st.interruptCall(in, id, "", from) {
			ids = append(ids, id)
		}
	}
	for _, call := range in.Calls {
		if !st.interruptCall(in, "", call, from) {
			calls = append(calls, call)
		}
	}
	if len(ids)+len(calls) > 0 {
		st.unmatched(interruptKind, in.target(ids, calls))
	}
}

// interruptCall closes the call that an id or our own name of it means. It
// reports whether the call was open when the interrupt came: the events from
// position from on are the interrupt's, and a call may be named twice.
func (st *Step) interruptCall(in *Interrupt, id, call string, from int) bool {
	m, i := st.oldest(anywhere, func(m *Message, k int) bool { return in.means(m) && m.has(k, id, call) })
	if m != nil {
		st.close(m, i, events.Cancelled, events.ByInterrupt, in.Reason)
		return true
	}
	return slices.ContainsFunc(st.Out[from:], func(e events.Event) bool {
		return e.Type == events.ToolCallResult && (call != "" && e.Call == call || id != "" && (e.ID == id || e.UID == id))
	})
}

// closeCalls closes the open calls that match, in the order they began.
func (st *Step) closeCalls(match func(*Message, *Call) bool, code events.Code, detail string) {
	for _, m := range st.State.Messages {
		for i, c := range m.Calls {
			if !c.Status.Terminal() && match(m, c) {
				st.close(m, i, events.Cancelled, code, detail)
			}
		}
	}
}

// mute ends the messages that match and takes nothing more of them.
func (st *Step) mute(match func(*Message) bool) {
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase != Finished && match(m) {
			st.State.Memory.mute(m.Namespace, m.ID, st.State.Time)
			st.over(m, true)
		}
	}
}

// human takes a human message: the calls before it will not be answered. In a
// namespace it is the task of a subagent, and concerns that one only.
func (st *Step) human(c *chunks.Chunk) {
	mem := &st.State.Memory
	id := clone(c.ID)
	if c.ID != "" && c.Namespace != "" {
		id = c.Namespace + "|" + c.ID
	}
	if id != "" && mem.sawMessage(id) || id == "" && c.Repeated {
		return
	}
	mem.seeMessage(id, st.Rules.MaxClosed)
	before := func(m *Message) bool { return within(m.Namespace, c.Namespace) && (!c.Repeated || !st.follows(m)) }
	st.closeCalls(func(m *Message, _ *Call) bool { return before(m) }, events.ByNewMessage, "")
	st.finalise(func(m *Message) bool { return m.Phase == Finishing && before(m) })
}

// follows tells whether a repeated history has a message after the place that
// is being taken.
func (st *Step) follows(m *Message) bool {
	for i := range st.rest {
		if c := &st.rest[i]; c.Message != "" && c.Message == m.ID {
			return true
		}
	}
	return false
}

// attempt takes the word that what is open was abandoned and is tried again.
func (st *Step) attempt() {
	run := st.State.LastRun
	st.closeCalls(func(m *Message, _ *Call) bool { return m.Run == run }, events.BySuperseded, "")
	st.abandon(func(m *Message) bool { return m.Run == run })
}

// failure takes the provider's word that it broke off in mid-message.
func (st *Step) failure(c *chunks.Chunk) {
	broken := func(m *Message) bool {
		return m.Phase != Finished && m.Namespace == c.Namespace && (c.Message == "" || m.ID == c.Message)
	}
	detail := st.brief(c.Text)
	st.closeCalls(func(m *Message, _ *Call) bool { return broken(m) }, events.BySuperseded, detail)
	for _, m := range slices.Clone(st.State.Messages) {
		if broken(m) {
			m.Reason = "error"
			st.over(m, true)
		}
	}
	st.sweep()
}

// await marks calls that wait for a person.
func (st *Step) await(c *chunks.Chunk) {
	if c.ID != "" {
		if m, i := st.find(c.ID, "", c.Namespace); m != nil {
			st.wait(m, i, c)
		}
		return
	}
	for _, m := range st.State.Messages {
		if !within(m.Namespace, c.Namespace) {
			continue
		}
		for i := range m.Calls {
			if !m.Asm.Calls[i].Provider {
				st.wait(m, i, c)
			}
		}
	}
}

// wait is the transition to awaiting_input. A call whose args are still on
// their way does not wait for anybody yet.
func (st *Step) wait(m *Message, i int, c *chunks.Chunk) {
	call, said := m.Calls[i], &m.Asm.Calls[i]
	if call.Status == events.BuildingArgs && said.Whole() {
		st.complete(m, i, "next")
	}
	if call.Status != events.ArgsComplete && (call.Status != events.AwaitingInput || call.wait() == c.InterruptID) {
		return
	}
	call.Status = events.AwaitingInput
	call.rare().Wait = clone(c.InterruptID)
	st.arm(m, i)
	e := st.emitCall(events.ToolCallAwaiting, m, i)
	e.Kind, e.InterruptID, e.Deadline = clone(c.Why), call.wait(), at(call.Deadline)
}

// within tells whether a namespace is ns or below it.
func within(namespace, ns string) bool {
	return ns == "" || namespace == ns || len(namespace) > len(ns) && namespace[:len(ns)] == ns && namespace[len(ns)] == '|'
}
