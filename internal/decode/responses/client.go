package responses

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// clientFrame emits what a client sends over a WebSocket, if the frame with this name is
// one of its frames:
//
//	response.create{stream_id?,previous_response_id?,input:[items]}
//	response.steer{previous_response_id,input:"…" or [items]}, response.inject{response_id,input:[items]}
//
// The Realtime API has the input of a response.create in its member response.
func (r frame) clientFrame(name string, e *event, v jsonscan.Value) (problem *wire.Problem, is bool) {
	switch name {
	case "create", "steer", "inject", "append":
		r.UnknownMembers("response."+name, v, "input", "response", "prompt", "text", "reasoning", "metadata", "client_metadata")
	case "cancel", "interrupt", // the server answers with the end of the response
		"steer.accepted", "steer.pending", "steer.failed", "inject.created", "inject.failed": // have no new items
		return nil, true
	default:
		return nil, false
	}
	switch input := e.input; {
	case name == "create" && e.response.IsObject(): // a prompt, which is no part of the conversation
		return r.results(e.response.Member("input")), true
	case input.IsString():
		r.Emit(chunks.Chunk{Kind: chunks.Human, Text: r.Text(input), Aside: true})
	case input.IsArray():
		problem = r.results(input)
		r.people(input, name == "create" && !e.previous.Present())
	case input.Present():
		problem = wire.WrongType("input of response."+name, input, "a string or a list of items")
	}
	return problem, true
}

// results emits the results of a list of items. One that was emitted before has no effect.
func (r frame) results(input jsonscan.Value) (first *wire.Problem) {
	for e := input.Elements(); e.Next(); {
		first = cmp.Or(first, r.clientItem(e.Value))
	}
	return first
}

func (r frame) clientItem(item jsonscan.Value) *wire.Problem {
	switch kind := wire.TypeOf(item); kind {
	case "mcp_approval_response":
		return r.Result(item)
	case "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output",
		"shell_call_output", "apply_patch_call_output", "tool_search_output":
		return r.ToolResult(chunks.Chunk{}, wire.ReadResult(item).Given())
	default:
		if !repeats(kind) {
			r.unknownItem("item", kind, item)
		}
	}
	return nil
}

func (r frame) unknownItem(what, kind string, item jsonscan.Value) {
	r.Unknown(what, kind, item)
	for _, key := range [...]string{"output", "approval_request_id"} {
		if item.Member(key).Present() {
			r.UnknownCall(what, kind, key)
		}
	}
}

// repeats reports whether an item in the input of a client is one of a message, or repeats
// one of the model.
func repeats(kind string) bool {
	switch kind {
	case "", "message", "reasoning", "item_reference", "compaction", "function_call", "custom_tool_call", "mcp_call", "mcp_approval_request",
		"local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		return true
	}
	return runsAlone(kind)
}

// people emits the human messages of a list of items. They close no call, because a call
// may be answered in another lane. A history without a previous response repeats the
// messages that the model has answered: only those after the last item of the model count.
func (r frame) people(input jsonscan.Value, history bool) {
	from := r.Len()
	for e := input.Elements(); e.Next(); {
		kind, role := jsonscan.Value{}, jsonscan.Value{}
		e.Value.Read(kind.From("type"), role.From("role"))
		switch {
		case role.Str == "user":
			r.human(e.Value, true)
		case history && (role.Str == "assistant" || kind.Str == "function_call" || kind.Str == "custom_tool_call" || kind.Str == "reasoning"):
			r.Truncate(from)
		}
	}
}

// claimsInput claims a user message of the input of a response:
//
//	{"type":"message"?,"role":"user","id"?,"content":"…" or [{"type":"input_text","text"}]}
//
// Content that is a string can be of other formats too.
func claimsInput(f wire.Frame) wire.Claim {
	var kind, role, content jsonscan.Value
	f.Read(kind.From("type"), role.From("role"), content.From("content"))
	if role.Str != "user" {
		return wire.No
	}
	if e := content.Elements(); e.Next() {
		switch wire.TypeOf(e.Value) {
		case "input_text", "input_image", "input_file":
			return wire.Surely
		}
	}
	if content.IsString() && (kind.Str == "message" || kind.Raw == "") {
		return wire.IfKnown
	}
	return wire.No
}

// human emits a user message of the input. aside states that it interrupts nothing.
func (r frame) human(v jsonscan.Value, aside bool) {
	r.Emit(chunks.Chunk{Kind: chunks.Human, Aside: aside, ID: r.Text(v.Member("id")), Text: r.PlainText(v.Member("content"))})
}
