package decode

import (
	"fmt"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// aguiMessage is a whole message:
//
//	{"role":"assistant","id","content"?,"toolCalls"?:[{"id","type","function":{"name","arguments"}}]}
//	{"role":"tool","id","toolCallId","content","error"?}
//	{"role":"user","id","content"}
type aguiMessage struct {
	role, id, content, failure, call, calls gjson.Result
}

func readAGUIMessage(v gjson.Result) (w aguiMessage) {
	for m := members(v); m.next(); {
		switch m.key {
		case "role":
			w.role = m.value
		case "id":
			w.id = m.value
		case "content":
			w.content = m.value
		case "error":
			w.failure = m.value
		case "toolCallId":
			w.call = m.value
		case "toolCalls":
			w.calls = m.value
		}
	}
	return w
}

// snapshot reads the whole conversation of MESSAGES_SNAPSHOT: it confirms the
// calls and results that were streamed and brings those that were not. Its
// texts are not said again. What a person said in it is no interruption: the
// snapshot may be older than the calls that are open.
func (g agui) snapshot(list gjson.Result) (first *Problem) {
	if !isArray(list) {
		return wrongType("messages", list, "a list of messages")
	}
	for i, e := 0, elements(list); e.next(); i++ {
		p := g.whole(e.value)
		if p != nil && first == nil {
			p.Text = fmt.Sprintf("message %d: %s", i, p.Text)
			first = p
		}
	}
	return first
}

func (g agui) whole(v gjson.Result) *Problem {
	if !isObject(v) {
		return wrongType("the message", v, "an object")
	}
	m := readAGUIMessage(v)
	switch m.role.Str {
	case "assistant":
		return g.wholeCalls(&m)
	case "tool":
		if !isString(m.call) {
			return wrongType("toolCallId", m.call, "a string")
		}
		return g.result(g.r.text(m.call), m.content, m.failure, true)
	}
	return nil
}

// wholeCalls emits the calls of a whole message, which then is over, unless
// something of it is still open.
func (g agui) wholeCalls(m *aguiMessage) *Problem {
	if present(m.calls) && !isArray(m.calls) {
		return wrongType("toolCalls", m.calls, "a list of calls")
	}
	id, some := g.r.text(m.id), false
	for e := elements(m.calls); e.next(); {
		c := chunks.Chunk{Kind: chunks.Fragment, Namespace: g.ns, Message: id, Whole: true, Final: true, Repeated: true}
		c.ID = g.r.text(member(e.value, "id"))
		if l := g.mem.callLane(g.ns, c.ID); c.ID == "" || l != nil {
			continue // it is still being streamed, or cannot be told from others
		}
		function := member(e.value, "function")
		c.Name = g.r.text(member(function, "name"))
		if args := member(function, "arguments"); isObject(args) {
			c.Args, c.Object = g.r.compact(args.Raw), true
		} else {
			c.Args = g.r.text(args)
		}
		g.r.emit(c)
		some = true
	}
	if some && !g.mem.busy(g.ns, id) {
		g.r.emit(chunks.Chunk{Kind: chunks.Ended, Namespace: g.ns, Message: id, Repeated: true})
	}
	return nil
}

// echo reads the conversation that RUN_STARTED repeats. All of it was there
// before the run; new to us may be what stands behind the last calls: the
// answers of a frontend's tools, and what a person said instead.
func (g agui) echo(list gjson.Result) (first *Problem) {
	if present(list) && !isArray(list) {
		return wrongType("input.messages", list, "a list of messages")
	}
	last := 0
	for i, e := 1, elements(list); e.next(); i++ {
		if calls := elements(member(e.value, "toolCalls")); calls.next() {
			last = i
		}
	}
	for i, e := 1, elements(list); e.next(); i++ {
		if i <= last {
			continue
		}
		m := readAGUIMessage(e.value)
		switch {
		case m.role.Str == "user":
			g.r.emit(chunks.Chunk{Kind: chunks.Human, Namespace: g.ns, ID: g.r.text(m.id), Repeated: true})
		case m.role.Str == "tool" && last > 0 && isString(m.call):
			if p := g.result(g.r.text(m.call), m.content, m.failure, true); p != nil && first == nil {
				first = p
			}
		}
	}
	return first
}
