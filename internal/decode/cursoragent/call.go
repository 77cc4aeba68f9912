package cursoragent

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// toolCall emits a call, or its result. A call that was refused may have no line of its
// start.
func (r reader) toolCall(l *line) *wire.Problem {
	id := r.Text(l.id)
	if !l.id.IsString() || id == "" {
		return wire.WrongType("call_id", l.id, "a string that is not empty")
	}
	name, args, result, problem := r.tool(l.call)
	if problem != nil {
		return problem
	}
	completed, open := l.subtype.Str == "completed", slices.Contains(r.d.Calls, wire.Keep(id))
	if !open {
		r.begin(l)
		r.endText()
		c := chunks.Chunk{Kind: chunks.Fragment, ID: id, Name: name, Final: true, Opens: !completed, Whole: completed}
		if args.Present() {
			if c.Object = args.IsNested(); c.Object {
				c.Args = r.Compact(args.Raw)
			} else {
				c.Args = r.Text(args)
			}
		}
		r.Emit(c)
		r.Emit(chunks.Chunk{Kind: chunks.Seal, ID: id})
	}
	if completed {
		r.d.Calls = slices.DeleteFunc(r.d.Calls, func(s string) bool { return s == wire.Keep(id) })
		r.d.Answered = r.d.Open
		r.result(id, result)
	} else if !open {
		r.d.Calls = append(wire.MakeRoom(r.d.Calls, maxCalls), wire.Keep(id))
	}
	return nil
}

// tool returns the name, the args and the result in a tool_call: {"XToolCall":{"args","result"?}},
// or in older versions {"function":{"name","arguments"}}. The args of an MCP tool have its
// name and its args.
func (r reader) tool(call jsonscan.Value) (name string, args, result jsonscan.Value, problem *wire.Problem) {
	var tool jsonscan.Value
	for m := call.Members(); m.Next(); {
		if m.Value.IsObject() && (m.Key == "function" || strings.HasSuffix(m.Key, "ToolCall")) {
			name, tool = m.Key, m.Value
		}
	}
	if name == "" {
		return "", args, result, wire.WrongType("the member …ToolCall of tool_call", tool, "an object")
	}
	var called, given jsonscan.Value
	for m := tool.Members(); m.Next(); {
		switch m.Key {
		case "name":
			called = m.Value
		case "args", "arguments":
			args = m.Value
		case "result":
			result = m.Value
		default:
			r.UnknownMember(name, m.Key, m.Value)
		}
	}
	if name == "mcpToolCall" {
		for m := args.Members(); m.Next(); {
			switch m.Key {
			case "name":
				if !called.Present() {
					called = m.Value
				}
			case "toolName":
				called = m.Value
			case "args":
				given = m.Value
			case "toolCallId":
			default:
				r.UnknownMember("mcpToolCall.args", m.Key, m.Value)
			}
		}
		args = given
	}
	if s := r.Text(called); s != "" {
		name = s
	}
	return name, args, result, nil
}

// result emits a result, {OUTCOME:{…}}. A command that ends with another exit code than
// 0 may have the outcome success.
func (r reader) result(id string, v jsonscan.Value) {
	c := chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error"}
	outcome, content := "", v
	for m := v.Members(); m.Next(); {
		if m.Value.IsNested() || m.Value.IsString() { // isBackground stands beside it
			outcome, content = m.Key, m.Value
			break
		}
	}
	exit := content.Member("exitCode")
	failed := exit.Present() && exit.Raw != "0" || content.Member("isError").Kind == jsonscan.True
	switch {
	case outcome == "success" && !failed, !v.IsObject():
		c.Status = "success"
	case outcome == "rejected", strings.Contains(strings.ToLower(outcome), "denied"):
		c.Status = "denied"
	case outcome == "cancelled", outcome == "aborted":
		c.Status = "cancelled"
	}
	if content.IsNested() {
		c.Content = r.Compact(content.Raw)
	} else {
		c.Text = r.Text(content)
	}
	r.Emit(c)
}
