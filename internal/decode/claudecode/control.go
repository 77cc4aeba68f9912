package claudecode

import (
	"regexp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// control emits the beginning and the end of a wait for a person:
//
//	control_request{request_id,request:{subtype:"can_use_tool",tool_name,tool_use_id}}
//	→ control_response{response:{request_id,response:{behavior}}} or control_cancel_request{request_id}
//
// The request is also an elicitation, which names only the MCP server, a
// request_user_dialog, or the hook_callback of a call. Other control lines have no effect.
func (d *Decoder) control(w *wire.Writer, l *line) {
	switch l.kind.Str {
	case "control_request":
		d.ask(w, w.Text(l.requestID), l.request)
	case "control_response":
		var answer, behavior, action jsonscan.Value
		l.response.Read(l.requestID.From("request_id"), answer.From("response"))
		answer.Read(behavior.From("behavior"), action.From("action"))
		d.endWait(w, w.Text(l.requestID), w.Text(behavior)+w.Text(action))
	case "control_cancel_request":
		d.endWait(w, w.Text(l.requestID), "")
	}
}

// besides finds the characters that the name of an MCP tool has not from that of its server.
var besides = regexp.MustCompile("[^a-zA-Z0-9_-]")

// ask emits that a call waits. Older versions name only its tool.
func (d *Decoder) ask(w *wire.Writer, request string, v jsonscan.Value) {
	var kind, id, tool, server, input, args jsonscan.Value
	v.Read(kind.From("subtype"), id.From("tool_use_id"), tool.From("tool_name"), server.From("mcp_server_name"), input.From("input"))
	c, why := d.find(w.Text(id)), "input"
	switch kind.Str {
	case "hook_callback":
		if c == nil {
			input.Read(id.From("tool_use_id"), tool.From("tool_name"), args.From("tool_input"))
			d.lost(w, id, tool, args)
			w.UnknownMembers("the request", v, "subtype", "callback_id", "input", "tool_use_id")
			w.UnknownMembers("the input of a hook", input, "tool_use_id", "tool_name", "tool_input", "tool_response", "tool_calls")
		}
		return
	case "can_use_tool":
		d.lost(w, id, tool, input)
		c = d.find(w.Text(id))
		if why = "approval"; !id.Present() {
			name := w.Text(tool)
			c = d.call(func(c *Call) bool { return c.Name == name })
		}
		if c != nil {
			c.Ask = wire.Keep(request)
		}
	case "elicitation":
		prefix := "mcp__" + besides.ReplaceAllString(w.Text(server), "_") + "__"
		c = d.call(func(c *Call) bool { return strings.HasPrefix(c.Name, prefix) })
	case "request_user_dialog":
	default:
		if c == nil && id.IsString() {
			w.Unknown("control request", kind.Str, v)
		}
		return
	}
	if c != nil {
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: c.ID, Why: why, InterruptID: request})
	}
}

// lost emits a call whose line is lost, and which a request states as a whole.
func (d *Decoder) lost(w *wire.Writer, id, tool, input jsonscan.Value) {
	if d.find(w.Text(id)) != nil || !id.IsString() || !input.IsObject() {
		return
	}
	if d.Root.Phase == NoMessage {
		d.start(w)
		d.Root.begin(Whole, "")
	}
	n := w.Len()
	w.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: d.Root.Blocks.Message, ID: w.Text(id), Name: w.Text(tool), Args: w.Compact(input.Raw), Object: true, Final: true, Whole: true})
	d.openCalls(w, n)
}

// endWait emits the end of a wait. A call that was refused waits for the result that states it.
func (d *Decoder) endWait(w *wire.Writer, request, answer string) {
	if request == "" {
		return
	}
	if c := d.call(func(c *Call) bool { return c.Ask == wire.Keep(request) }); c != nil && answer == "deny" {
		c.Status = "denied"
		return
	}
	w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: request, Text: answer})
}
