package responses

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type stage uint8

const (
	itemAdded    stage = iota // the beginning of the item
	itemDone                  // the end of the item; all of it was streamed
	itemRepeated              // the end of the response
	itemCutOff                // the end of a response that is incomplete
	itemWhole                 // in a response that was not streamed
)

type itemFields struct {
	kind, id, call, name, args, input, action, operation, status, caller, output, failure, content, summary, approval, environment, execution jsonscan.Value
}

func readItem(item jsonscan.Value) (i itemFields) {
	var actions jsonscan.Value
	item.Read(
		i.kind.From("type"), i.id.From("id"), i.call.From("call_id"), i.name.From("name"),
		i.args.From("arguments"), i.input.From("input"), i.action.From("action"), actions.From("actions"),
		i.operation.From("operation"), i.status.From("status"), i.caller.From("caller"),
		i.output.From("output"), i.failure.From("error"), i.content.From("content"),
		i.summary.From("summary"), i.approval.From("approval_request_id"),
		i.environment.From("environment"), i.execution.From("execution"),
		i.call.From("callId"), i.approval.From("approvalRequestId"),
	)
	i.args, i.output, i.failure = wire.Variant(i.args), wire.Variant(i.output), wire.Variant(i.failure)
	if wire.Filled(actions) {
		i.action = actions
	}
	if i.kind.Str == "custom_tool_call" && i.input.Present() || !i.args.Present() {
		i.args = i.input
	}
	return i
}

// item emits an item. Items of tools that the provider runs without args
// (web_search_call, file_search_call and others) are not calls. all is the list of
// items that the end of the response repeats, if the item is one of them.
func (r frame) item(index, item jsonscan.Value, at stage, all jsonscan.Value) *wire.Problem {
	if !item.IsObject() {
		return wire.WrongType("item", item, "an object")
	}
	i := readItem(item)
	name := i.id
	if !name.Present() { // llama.cpp: the deltas name the call
		name = i.call
	}
	of := chunks.Chunk{Kind: chunks.Fragment, Message: r.d.openMessage(), Index: r.place(index, name), Final: true}
	switch i.kind.Str {
	case "message", "reasoning":
		if at == itemWhole {
			r.texts(of, i)
		}
		return nil
	}
	if !r.describe(&of, &i, at) {
		return r.outputItem(item, i, at)
	}
	if !wire.Filled(i.args) {
		r.UnknownMembers("the item", item, "call_id", "callId", "action", "actions", "operation", "caller", "output", "error", "arguments", "input")
	}
	of.Final = of.Name != "" // a name that is missing here is in the end of the item
	if of.ID == "" {
		return wire.WrongShape("the item %s has no id to answer: call_id and id are missing or empty", wire.Clip(i.kind.Str))
	}
	of.Message = r.d.contentOf()
	if at != itemWhole {
		c, known := r.d.callOf(Call{Index: of.Index, ID: of.ID, Name: of.Name}, at, func(id, index string) bool { return r.hasCall(all, id, index) })
		of.Index, of.ID = c.Index, c.ID
		of.Opens = known == otherCall
		of.Exact = known == newCall && at != itemAdded // its beginning was lost, and deltas may have come
	}
	r.call(of, i, at)
	return nil
}

// outputItem emits the result in an item, if it has one. At its beginning an item
// has no result, even if its output is an empty list.
func (r frame) outputItem(item jsonscan.Value, i itemFields, at stage) *wire.Problem {
	switch output := strings.HasSuffix(i.kind.Str, "_call_output"); {
	case !output && !runsAlone(i.kind.Str):
		r.Unknown("item", i.kind.Str, item)
		return nil
	case at == itemAdded, !output, !i.call.IsString():
		return nil
	}
	if at != itemWhole && !r.d.answers(r.Text(i.call), at) {
		return nil
	}
	return r.ToolResult(chunks.Chunk{}, wire.ReadResult(item))
}

// runsAlone reports whether an item is of a tool that the provider runs without args, of
// a program whose calls are items of their own, or of a list of tools.
func runsAlone(kind string) bool {
	switch kind {
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
		"tool_search_call", "tool_search_output", "mcp_list_tools", "mcp_approval_response", "program", "program_output":
		return true
	}
	return false
}

// describe sets the id, the name, the kind and the parent of a call. It reports
// whether the item is a call.
func (r frame) describe(of *chunks.Chunk, i *itemFields, at stage) bool {
	of.ID, of.Name = r.Text(i.call), r.Text(i.name)
	if of.ID == "" { // some servers omit call_id
		of.ID = r.Text(i.id)
	}
	switch i.kind.Str {
	case "function_call":
		of.ParentCall = r.caller(i)
	case "custom_tool_call":
		of.CallKind = "custom"
		of.ParentCall = r.caller(i)
		of.Provider = strings.HasPrefix(of.ID, "xs_call_") // a search of X, which xAI runs
	case "mcp_call":
		of.ID, of.CallKind, of.Provider = r.Text(i.id), "mcp", true
		// The call begins after its approval, so the approval request is answered.
		if id := r.Text(i.approval); id != "" && at == itemAdded {
			r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "success", Text: "approved"})
		}
	case "mcp_approval_request":
		of.ID, of.CallKind = r.Text(i.id), "mcp_approval_request"
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		of.CallKind = strings.TrimSuffix(i.kind.Str, "_call")
		of.Name, i.args = of.CallKind, r.action(i.action, of.CallKind == "computer")
		if i.kind.Str == "apply_patch_call" && i.operation.Present() {
			i.args = i.operation
		}
		where := i.environment.Member("type").Str
		of.Provider = where != "" && where != "local"
	case "tool_search_call":
		of.CallKind, of.Name = "tool_search", "tool_search"
		return i.execution.Str == "client"
	default:
		return false
	}
	return true
}

// action returns an action without the members that the Go SDK adds, which are empty. A
// coordinate can be 0.
func (r frame) action(v jsonscan.Value, coordinates bool) jsonscan.Value {
	if !strings.HasPrefix(v.FirstKey(), "Of") {
		return v
	}
	return jsonscan.ValueOf(r.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := v.Members(); m.Next(); {
			if wire.Filled(m.Value) || coordinates && m.Value.Kind == jsonscan.Number {
				dst = wire.AppendMember(dst, &m)
			}
		}
		return append(dst, '}')
	}))
}

func (r frame) caller(i *itemFields) string {
	var id jsonscan.Value
	i.caller.Read(id.From("caller_id"), id.From("callerId"))
	return r.Text(id)
}

func (r frame) texts(of chunks.Chunk, i itemFields) {
	kind := chunks.Text
	if i.kind.Str == "reasoning" {
		kind = chunks.Reasoning
	}
	part := jsonscan.Int(of.Index) * partsOfItem
	for _, list := range [...]jsonscan.Value{i.summary, i.content} {
		for e := list.Elements(); e.Next(); part++ {
			for m := e.Value.Members(); m.Next(); {
				if m.Key == "text" || m.Key == "refusal" {
					r.EmitText(chunks.Chunk{Kind: kind, Message: of.Message, Part: part}, m.Value)
				}
			}
		}
	}
}
