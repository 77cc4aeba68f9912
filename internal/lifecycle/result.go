package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// resultOf makes a Result of a chunk.
func resultOf(c *chunks.Chunk) Result {
	r := Result{ID: clone(c.ID), Name: clone(c.Name), Namespace: clone(c.Namespace), Status: resultStatus(c.Status), repeated: c.Repeated}
	if c.Content != "" {
		r.Content = []byte(clone(c.Content))
	} else {
		var j chunks.Joiner
		r.Content = events.Quote(j.Join(c.Text) + j.End())
	}
	return r
}

func resultStatus(s string) events.Status {
	switch s {
	case "error":
		return events.Error
	case "denied":
		return events.Denied
	}
	return events.Completed
}

// Result takes a tool result. call is our own name of the call where the
// sender knows it, else "". One with neither that nor an id is known by its
// tool: some wires have no ids.
func (st *Step) Result(r Result, call string) {
	if r.ID == "" && call == "" && r.Name != "" {
		st.named(r)
		return
	}
	if m, i := st.find(r.ID, call, r.place()); m != nil && !st.answered(&r, m) {
		st.receive(m, i, r)
		return
	}
	if old := st.closed(r, call); old != nil {
		st.late(old, r)
		return
	}
	st.orphan(r, call)
}

// answered tells whether a result out of a repeated history is that of a call
// that is over, and not of the open one that was found: the same id may be used
// in other namespaces, to which a history is less near.
func (st *Step) answered(r *Result, open *Message) bool {
	if !r.repeated {
		return false
	}
	old := st.State.Memory.find(r.ID, r.Namespace)
	return old != nil && near(old.Namespace, r.Namespace) > near(open.Namespace, r.Namespace) && old.Real == r.digest()
}

// named takes a result that names its tool only. It is that of the oldest open
// call of the newest message that has one of that name: the results of
// parallel calls come in the order of the calls.
func (st *Step) named(r Result) {
	m, i := st.oldest(r.place(), func(m *Message, k int) bool {
		return m.Asm.Calls[k].Name == r.Name && m.Calls[k].Result == nil
	})
	if m != nil {
		st.receive(m, i, r)
		return
	}
	if old := st.State.Memory.named(&r); old != nil {
		st.late(old, r)
		return
	}
	st.orphan(r, "")
}

// orphan tells a result of a call that was never seen, and remembers it. One
// that names the call as we do is of a call that is forgotten, and of no other
// that may come with the same id.
func (st *Step) orphan(r Result, call string) {
	kept := r
	if call != "" {
		kept.ID += "~" + call
	}
	if st.State.Memory.remember(kept, st.Rules.MaxOrphans) {
		e := st.emit(events.OrphanResult)
		e.ID, e.ToolName, e.Place = r.ID, r.Name, &events.Place{Namespace: r.Namespace}
		e.Status, e.ToolResult = r.Status, r.Content
	}
}

// receive gives an open call its result. One that overtakes the args waits
// for them, unless they are plainly all there; another one then is late.
func (st *Step) receive(m *Message, i int, r Result) {
	c := m.Calls[i]
	if c.Status != events.BuildingArgs {
		st.terminal(m, i, r)
		st.sweep()
		return
	}
	if c.Result != nil {
		if d := r.digest(); c.Result.digest() != d && c.Result.Others.note(d) {
			st.tellStart(m, i, true)
			e := st.emitCall(events.ToolCallLateResult, m, i)
			e.Status, e.ToolResult, e.Conflict = r.Status, r.Content, true
		}
		return
	}
	c.Result = &r
	if said := &m.Asm.Calls[i]; m.Phase == Finished || said.Whole() {
		st.complete(m, i, "result")
		st.sweep()
	}
}

// anywhere stands for a namespace that nobody gave.
const anywhere = "\x00"

// place gives the namespace that a result is of: where it has none, that is the
// root only of a history that is repeated.
func (r *Result) place() string {
	if r.Namespace == "" && !r.repeated {
		return anywhere
	}
	return r.Namespace
}

// find gives the open call that a result, interrupt or progress means: the one
// named call, or the oldest open call of the newest message that uses id; of
// several namespaces the one nearest to namespace.
func (st *Step) find(id, call, namespace string) (found *Message, pos int) {
	return st.oldest(namespace, func(m *Message, k int) bool { return m.has(k, id, call) })
}

// has tells whether the call at k is the one of our own name or, without one,
// of an id or uid.
func (m *Message) has(k int, id, call string) bool {
	c := m.Calls[k]
	if call != "" {
		return c.Call == call
	}
	return id != "" && (m.Asm.Calls[k].ID == id || c.ID == id || c.UID() == id)
}

// oldest gives the oldest open call that matches, of the newest message that
// has one; of several namespaces the one nearest to namespace.
func (st *Step) oldest(namespace string, match func(m *Message, k int) bool) (found *Message, pos int) {
	for _, m := range slices.Backward(st.State.Messages) {
		if found != nil && namespace == anywhere {
			break
		}
		if found != nil && near(m.Namespace, namespace) <= near(found.Namespace, namespace) {
			continue
		}
		for k, c := range m.Calls {
			if !c.Status.Terminal() && match(m, k) {
				found, pos = m, k
				break
			}
		}
	}
	return found, pos
}

func (st *Step) closed(r Result, call string) *Closed {
	if call != "" {
		return st.State.Memory.call(call)
	}
	return st.State.Memory.find(r.ID, r.Namespace)
}

// late tells a real result that came after the call was closed; the same one
// again is a redelivery and nothing.
func (st *Step) late(old *Closed, r Result) {
	if old.Call == "" {
		st.told(old, r)
		return
	}
	d := r.digest()
	if old.Real == d || old.Real != "" && !old.Others.note(d) {
		return
	}
	e := st.emit(events.ToolCallLateResult)
	e.Run, e.Place = old.Run, &events.Place{MessageID: old.Message, Namespace: old.Namespace, Choice: old.Choice}
	e.Call, e.ID, e.IDSynthesized, e.UID, e.ToolName = old.Call, old.ID, old.Synth, old.UID, old.Name
	if old.Index != "" {
		e.Index = []byte(old.Index)
	}
	e.Status, e.ToolResult, e.Conflict = r.Status, r.Content, old.Real != ""
	if old.Real == "" {
		old.Real = d
	}
}

// confirm takes a call of a full message: it says again what was streamed, or
// is over. False if it is a new one: providers repeat ids, and frameworks
// change those of messages, so that across messages the args must be the same.
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
			if i := m.Asm.ByID(c.ID); i >= 0 && (sameMessage || same(m.Calls[i].Args, m.Asm.Calls[i].Name) && !st.beside(c, m.ID)) {
				st.again(m, i, c)
				return true
			}
		}
	}
	seen := c.Message != "" && st.State.Memory.sawMessage(c.Message)
	return st.State.Memory.repeats(c.ID, func(old *Closed) bool {
		return seen || old.Message == c.Message ||
			(c.Repeated || old.Run == st.State.LastRun) && same(old.Args, old.Name) && !st.beside(c, old.Message)
	})
}

// beside tells whether a history has another message beside that of a call: then
// it is not the same one under another id.
func (st *Step) beside(c *chunks.Chunk, message string) bool {
	return c.Message != message && slices.ContainsFunc(st.frame, func(o chunks.Chunk) bool { return o.Repeated && o.Message == message })
}

// again completes a call that a full message repeats. Where the model was cut
// off in its args, what the message has is some framework's guess at them.
func (st *Step) again(m *Message, i int, c *chunks.Chunk) {
	if m.Calls[i].Status != events.BuildingArgs || m.Truncated && !m.Asm.Calls[i].Whole() {
		return
	}
	if _, _, err := m.Asm.Add(c, st.Rules.limits()); err != nil {
		st.refuse(m, i, c, err)
		return
	}
	st.resumeAt(m, i)
	st.complete(m, i, closer(c))
}

// Progress takes a sign of life from a tool: the deadline starts anew. It
// reports whether the call is open.
func (st *Step) Progress(id, call, text string, percent float64, hasPercent bool) (open bool) {
	m, i := st.find(id, call, anywhere)
	if m == nil {
		return false
	}
	c := m.Calls[i]
	st.tellStart(m, i, true)
	st.arm(m, i)
	e := st.emitCall(events.ToolCallProgress, m, i)
	e.Progress, e.Deadline = clone(text), at(c.Deadline)
	if hasPercent {
		e.Percent = &percent
	}
	return true
}
