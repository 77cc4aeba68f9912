package cursoragent

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// toolCall emits a call, or its result. A call that was refused may have no line of its
// start.
func (d *decoder) toolCall(w *wire.Writer, l *line) *wire.Problem {
	id := w.Text(l.id)
	if !l.id.IsString() || id == "" {
		return wire.WrongType("call_id", l.id, "a string that is not empty")
	}
	name, args, result, problem := d.tool(w, l.call)
	if problem != nil {
		return problem
	}
	completed, open := l.subtype.Str == "completed", d.Calls.Has(id)
	if !open {
		d.begin(w, l)
		d.endText(w)
		c := chunks.Chunk{Kind: chunks.Fragment, ID: id, Name: name, Final: true, Opens: !completed, Whole: completed}
		if args.Present() {
			w.SetArgs(&c, args)
		}
		w.EmitWhole(c)
	}
	if completed {
		d.Calls.Remove(id)
		d.Answered = d.Open
		d.result(w, id, result)
	} else if !open {
		d.Calls.Add(id, maxCalls)
	}
	return nil
}

// tool returns the name, the args and the result in a tool_call: {"XToolCall":{"args","result"?}},
// or in older versions {"function":{"name","arguments"}}. The args of an MCP tool have its
// name and its args.
func (d *decoder) tool(w *wire.Writer, call jsonscan.Value) (name string, args, result jsonscan.Value, problem *wire.Problem) {
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
	w.ReadKnown(name, tool,
		called.From("name"), args.From("args"), args.From("arguments"), result.From("result"),
	)
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
				w.UnknownMember("mcpToolCall.args", m.Key, m.Value)
			}
		}
		args = given
	}
	if s := w.Text(called); s != "" {
		name = s
	}
	return name, args, result, nil
}

// result emits a result, {OUTCOME:{…}}. A command that ends with another exit code than
// 0 may have the outcome success.
func (d *decoder) result(w *wire.Writer, id string, v jsonscan.Value) {
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
	c.Content, c.Text = w.ContentOf(content)
	w.Emit(c)
}
