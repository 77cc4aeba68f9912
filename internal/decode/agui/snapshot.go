package agui

import (
	"fmt"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// message is the members of a whole message:
//
//	{"role":"assistant","id","content"?,"toolCalls"?:[{"id","type","function":{"name","arguments"}}]}
//	{"role":"tool","id","toolCallId","content","error"?}
//	{"role":"user","id","content"}
type message struct {
	role, id, content, failure, call, calls, metadata jsonscan.Value
}

// snapshot reads the whole conversation of MESSAGES_SNAPSHOT, or of the input of a run.
// It emits all calls and results: those that were streamed are confirmed, and those
// that were lost are added. It emits no texts.
//
// begins states that nothing of the run came before. The human messages at its end can
// then be new. They interrupt if they come after calls, in the place of results.
// Otherwise the snapshot may be older than the open calls.
func (r frame) snapshot(list jsonscan.Value, begins bool) (first *wire.Problem) {
	if !list.IsArray() {
		return wire.WrongType("messages", list, "a list of messages")
	}
	n, last := r.Len(), lastCalls(list)
	for i, e := 0, list.Elements(); e.Next(); i++ {
		p := r.whole(e.Value, begins && i > last, last < 0)
		if p != nil && first == nil {
			p.Text = fmt.Sprintf("message %d: %s", i, p.Text)
			first = p
		}
	}
	for i := range r.Since(n) {
		r.Since(n)[i].Snapshot = true
	}
	if begins {
		r.addWaiting(r.Since(n))
	}
	return first
}

func lastCalls(list jsonscan.Value) int {
	last := -1
	for i, e := 0, list.Elements(); e.Next(); i++ {
		if calls := e.Value.Member("toolCalls").Elements(); calls.Next() {
			last = i
		}
	}
	return last
}

// addWaiting adds the calls at the end of the history that have no result. The agent may
// repeat them.
func (r frame) addWaiting(history []chunks.Chunk) {
	for i := range history {
		switch c := &history[i]; c.Kind {
		case chunks.Fragment:
			r.d.Waiting.AddNew(c.ID, maxWaiting)
		case chunks.Result:
			r.d.Waiting.Remove(c.ID)
		case chunks.Human:
			for _, c := range history[:i] {
				r.d.Waiting.Remove(c.ID)
			}
		}
	}
}

// whole emits the calls or the result of a whole message, and a human message if human
// is true. With aside, that interrupts nothing.
func (r frame) whole(v jsonscan.Value, human, aside bool) *wire.Problem {
	if !v.IsObject() {
		return wire.WrongType("the message", v, "an object")
	}
	var m message
	v.Read(
		m.role.From("role"), m.id.From("id"), m.content.From("content"), m.failure.From("error"),
		m.call.From("toolCallId"), m.calls.From("toolCalls"), m.metadata.From("metadata"),
	)
	switch m.role.Str {
	case "assistant":
		return r.wholeCalls(&m)
	case "tool":
		if !m.call.IsString() {
			return wire.WrongType("toolCallId", m.call, "a string")
		}
		return r.emitResult(r.Text(m.call), m.content, m.failure, m.metadata, true)
	case "user":
		if human {
			r.Emit(chunks.Chunk{
				Kind: chunks.Human, Namespace: r.ns, ID: r.Text(m.id), Text: r.PlainText(m.content), Repeated: true, Aside: aside,
			})
		}
	}
	return nil
}

// wholeCalls emits the calls of a whole message, and its end unless an item of the
// message is open.
func (r frame) wholeCalls(m *message) *wire.Problem {
	if m.calls.Present() && !m.calls.IsArray() {
		return wire.WrongType("toolCalls", m.calls, "a list of calls")
	}
	id, some := r.Text(m.id), false
	for e := m.calls.Elements(); e.Next(); {
		c := chunks.Chunk{Kind: chunks.Fragment, Namespace: r.ns, Message: id, Whole: true, Final: true, Repeated: true}
		c.ID = r.Text(e.Value.Member("id"))
		if c.ID == "" || r.d.findCall(r.ns, c.ID) != nil {
			continue // it cannot be identified, or it is being streamed
		}
		function := e.Value.Member("function")
		r.UnknownMembers("the entry of toolCalls", e.Value, "type", "function")
		r.UnknownMembers("function", function, "arguments")
		c.Name = r.Text(function.Member("name"))
		if args := function.Member("arguments"); args.IsObject() {
			c.Args, c.Object = r.Compact(args.Raw), true
		} else {
			c.Args = r.Text(args)
		}
		r.Emit(c)
		some = true
	}
	if some && !r.d.busy(r.ns, id) {
		r.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: r.ns, Message: id, Repeated: true})
	}
	if !some && id != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Listed, Namespace: r.ns, Message: id, Repeated: true})
	}
	return nil
}
