package agui

import (
	"fmt"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// aguiMessage is a whole message:
//
//	{"role":"assistant","id","content"?,"toolCalls"?:[{"id","type","function":{"name","arguments"}}]}
//	{"role":"tool","id","toolCallId","content","error"?}
//	{"role":"user","id","content"}
type aguiMessage struct {
	role, id, content, failure, call, calls jsonscan.Value
}

func readAGUIMessage(v jsonscan.Value) (w aguiMessage) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "role":
			w.role = m.Value
		case "id":
			w.id = m.Value
		case "content":
			w.content = m.Value
		case "error":
			w.failure = m.Value
		case "toolCallId":
			w.call = m.Value
		case "toolCalls":
			w.calls = m.Value
		}
	}
	return w
}

// snapshot reads the whole conversation of MESSAGES_SNAPSHOT: it confirms the
// calls and results that were streamed and brings those that were not. Its
// texts are not said again. What a person said in it is no interruption: the
// snapshot may be older than the calls that are open.
func (g agui) snapshot(list jsonscan.Value) (first *wire.Problem) {
	if !list.IsArray() {
		return wire.WrongType("messages", list, "a list of messages")
	}
	for i, e := 0, list.Elements(); e.Next(); i++ {
		p := g.whole(e.Value)
		if p != nil && first == nil {
			p.Text = fmt.Sprintf("message %d: %s", i, p.Text)
			first = p
		}
	}
	return first
}

func (g agui) whole(v jsonscan.Value) *wire.Problem {
	if !v.IsObject() {
		return wire.WrongType("the message", v, "an object")
	}
	m := readAGUIMessage(v)
	switch m.role.Str {
	case "assistant":
		return g.wholeCalls(&m)
	case "tool":
		if !m.call.IsString() {
			return wire.WrongType("toolCallId", m.call, "a string")
		}
		return g.result(g.r.Text(m.call), m.content, m.failure, true)
	}
	return nil
}

// wholeCalls emits the calls of a whole message, which then is over, unless
// something of it is still open.
func (g agui) wholeCalls(m *aguiMessage) *wire.Problem {
	if m.calls.Present() && !m.calls.IsArray() {
		return wire.WrongType("toolCalls", m.calls, "a list of calls")
	}
	id, some := g.r.Text(m.id), false
	for e := m.calls.Elements(); e.Next(); {
		c := chunks.Chunk{Kind: chunks.Fragment, Namespace: g.ns, Message: id, Whole: true, Final: true, Repeated: true}
		c.ID = g.r.Text(e.Value.Member("id"))
		if l := g.mem.callLane(g.ns, c.ID); c.ID == "" || l != nil {
			continue // it is still being streamed, or cannot be told from others
		}
		function := e.Value.Member("function")
		c.Name = g.r.Text(function.Member("name"))
		if args := function.Member("arguments"); args.IsObject() {
			c.Args, c.Object = g.r.Compact(args.Raw), true
		} else {
			c.Args = g.r.Text(args)
		}
		g.r.Emit(c)
		some = true
	}
	if some && !g.mem.busy(g.ns, id) {
		g.r.Emit(chunks.Chunk{Kind: chunks.Ended, Namespace: g.ns, Message: id, Repeated: true})
	}
	return nil
}

// echo reads the conversation that RUN_STARTED repeats. All of it was there
// before the run; new to us may be what stands behind the last calls: the
// answers of a frontend's tools, and what a person said instead.
func (g agui) echo(list jsonscan.Value) (first *wire.Problem) {
	if list.Present() && !list.IsArray() {
		return wire.WrongType("input.messages", list, "a list of messages")
	}
	last := 0
	for i, e := 1, list.Elements(); e.Next(); i++ {
		if calls := e.Value.Member("toolCalls").Elements(); calls.Next() {
			last = i
		}
	}
	for i, e := 1, list.Elements(); e.Next(); i++ {
		if i <= last {
			continue
		}
		m := readAGUIMessage(e.Value)
		switch {
		case m.role.Str == "user":
			g.r.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: g.ns, ID: g.r.Text(m.id), Repeated: true})
		case m.role.Str == "tool" && last > 0 && m.call.IsString():
			if p := g.result(g.r.Text(m.call), m.content, m.failure, true); p != nil && first == nil {
				first = p
			}
		}
	}
	return first
}
