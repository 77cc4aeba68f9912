package lifecycle

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

func resultOf(c *chunks.Chunk) Result {
	r := Result{ID: clone(c.ID), Name: clone(c.Name), Namespace: clone(c.Namespace), Status: resultStatus(c.Status), repeated: c.Repeated, index: clone(c.Index), state: clone(c.Why)}
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
	case "cancelled":
		return events.Cancelled
	}
	return events.Completed
}

// Result applies a tool result. call is the name of its call in events, "" where
// the sender does not know it. A result with neither that nor an id is matched by
// its tool, because some wires have no ids.
func (st *Step) Result(r Result, call string) {
	if r.state == "stopped" || r.state == "unknown" {
		st.toolState(&r, call)
		return
	}
	if r.ID == "" && call == "" && r.Name != "" {
		st.resultByTool(r)
		return
	}
	if m, c := st.find(r.ID, call, r.namespace()); m != nil && !st.repeatsClosed(&r, m) {
		st.receive(m, c, r)
		return
	}
	if old := st.closed(r, call); old != nil {
		st.late(old, r)
		return
	}
	st.orphan(r, call)
}

// toolState emits whether the tool of a closed call stopped. There is no result.
func (st *Step) toolState(r *Result, call string) {
	old := st.closed(*r, call)
	if m, _ := st.find(r.ID, call, r.namespace()); m != nil || old == nil || old.Call == "" {
		t := &events.Target{}
		t.ToolCallIDs, t.Calls, t.More = missing(present(r.ID), present(call))
		st.unmatched(resultKind, t)
		return
	}
	r.Content = []byte(r.state) // which is no JSON, so that no result has this digest
	if old.Others.add(r.digest()) {
		st.emitClosed(events.ToolCallLateResult, old).ToolState = r.state
	}
}

// repeatsClosed reports whether a result of a repeated history is that of a
// closed call, and not of the open one that was found. The same id may be used in
// several namespaces, and the closed call's namespace is nearer. Or it may be used
// several times in one message, and the closed calls there have this result.
func (st *Step) repeatsClosed(r *Result, open *Message) bool {
	if !r.repeated {
		return false
	}
	old := st.State.Memory.find(r.ID, r.Namespace)
	if old == nil {
		return false
	}
	digest := r.digest()
	if proximity(old.Namespace, r.Namespace) > proximity(open.Namespace, r.Namespace) && old.Real == digest {
		return true
	}
	return st.resultsBefore(r.ID, digest) < st.State.Memory.closedIn(r.ID, open.Namespace, open.ID, digest)
}

func (st *Step) resultsBefore(id, digest string) (n int) {
	for i := range st.frame[:len(st.frame)-len(st.rest)-1] {
		if c := &st.frame[i]; c.Kind == chunks.Result && c.ID == id {
			if r := resultOf(c); r.digest() == digest {
				n++
			}
		}
	}
	return n
}

// resultByTool applies a result that names only its tool. It belongs to the
// oldest open call of that tool in the newest message that has one: the results
// of parallel calls come in the order of the calls.
func (st *Step) resultByTool(r Result) {
	m, c := st.oldest(r.namespace(), func(_ *Message, c *Call) bool {
		return c.Name == r.Name && c.State.Result == nil && (r.index == "" || c.Index == r.index)
	})
	if m != nil {
		st.receive(m, c, r)
		return
	}
	if old := st.State.Memory.findByTool(&r); old != nil {
		st.late(old, r)
		return
	}
	st.orphan(r, "")
}

// orphan emits a result of an unknown call and remembers it, because its call may
// start later. A result that has the name of a call in events belongs to a
// forgotten call, and not to one that starts later with the same id.
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

// receive applies the result of an open call. A result that overtakes the args
// waits for them, unless they are whole. A second one is late.
func (st *Step) receive(m *Message, c *Call, r Result) {
	if c.State.Status != events.BuildingArgs {
		st.complete(m, c, r)
		st.dropFinished()
		return
	}
	if first := c.State.Result; first != nil {
		if d := r.digest(); first.digest() != d && first.Others.add(d) {
			st.emitStart(m, c, true)
			e := st.emitCall(events.ToolCallLateResult, m, c)
			e.Status, e.ToolResult, e.Conflict = r.Status, r.Content, true
		}
		return
	}
	held := r // a copy, so that the other results need no memory
	c.State.hold(&held)
	switch {
	case c.State.Restated == chunks.RestatedInRun && !c.Certain():
	case c.State.Restated != chunks.NotRestated:
		st.completeArgs(m, c, "result")
		st.dropFinished()
	case m.Phase == Finished:
		st.answerCut(m, c, "result")
		st.dropFinished()
	case c.Whole():
		st.completeArgs(m, c, "result")
	}
}

// namespace returns the namespace of a result. An empty one means the root only
// in a repeated history.
func (r *Result) namespace() string {
	if r.Namespace == "" && !r.repeated {
		return anywhere
	}
	return r.Namespace
}

// find returns the open call that a result, an interrupt or a progress means, or
// nil: the one named call, or the oldest open call of the newest message that
// uses id. Of several namespaces it takes the nearest to namespace.
func (st *Step) find(id, call, namespace string) (*Message, *Call) {
	return st.oldest(namespace, func(_ *Message, c *Call) bool { return isNamed(c, id, call) })
}

func isNamed(c *Call, id, call string) bool {
	if call != "" {
		return c.State.Call == call
	}
	return id != "" && (c.ID == id || c.State.ID == id || c.State.UID() == id)
}

// oldest returns the oldest open call that matches, of the newest message that
// has one, or nil. Of several namespaces it takes the nearest to namespace.
func (st *Step) oldest(namespace string, match func(m *Message, c *Call) bool) (found *Message, call *Call) {
	for _, m := range slices.Backward(st.State.Messages) {
		if found != nil && namespace == anywhere {
			break
		}
		if found != nil && proximity(m.Namespace, namespace) <= proximity(found.Namespace, namespace) {
			continue
		}
		for i := range m.Calls {
			if c := &m.Calls[i]; !c.State.Status.Terminal() && match(m, c) {
				found, call = m, c
				break
			}
		}
	}
	return found, call
}

func (st *Step) closed(r Result, call string) *Closed {
	if call != "" {
		return st.State.Memory.newest(func(c *Closed) bool { return c.Call == call })
	}
	mem := &st.State.Memory
	newest := mem.find(r.ID, r.Namespace)
	if newest == nil || newest.Real == "" && !r.repeated {
		return newest
	}
	digest := r.digest()
	same := mem.newest(func(c *Closed) bool {
		return (c.ID == r.ID || c.UID == r.ID) && c.Message == newest.Message && c.Namespace == newest.Namespace && (c.Real == digest || c.Others.has(digest))
	})
	if same != nil {
		return same // the id may be that of several calls of the message
	}
	return newest
}

// late emits a real result that came after its call was closed. The same result
// again is a redelivery and emits nothing.
func (st *Step) late(old *Closed, r Result) {
	if old.Call == "" {
		st.resultOfHistory(old, r)
		return
	}
	d := r.digest()
	if old.Real == d || old.Real != "" && !old.Others.add(d) {
		return
	}
	e := st.emitClosed(events.ToolCallLateResult, old)
	e.Status, e.ToolResult, e.Conflict, e.ToolState = r.Status, r.Content, old.Real != "", r.state
	if old.Real == "" {
		old.Real = d
	}
}
