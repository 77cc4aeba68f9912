package responses

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// itemHow says what is said of an item.
type itemHow uint8

const (
	itemBegins  itemHow = iota
	itemEnds            // all of it was streamed, and this is what it came to
	itemRepeats         // at the end of its response
	itemCut             // likewise, and the model was cut off
	itemWhole           // nothing was streamed
)

// responsesFieldsOfItem are the members of an item, whatever its type.
type responsesFieldsOfItem struct {
	kind, id, call, name, args, action, status, caller, output, failure, content, summary, approval, environment, execution jsonscan.Value
}

func responsesItemFields(item jsonscan.Value) (i responsesFieldsOfItem) {
	for m := item.Members(); m.Next(); {
		switch m.Key {
		case "type":
			i.kind = m.Value
		case "id":
			i.id = m.Value
		case "call_id":
			i.call = m.Value
		case "name":
			i.name = m.Value
		case "arguments", "input":
			i.args = m.Value
		case "action", "actions", "operation":
			i.action = m.Value
		case "status":
			i.status = m.Value
		case "caller":
			i.caller = m.Value
		case "output":
			i.output = m.Value
		case "error":
			i.failure = m.Value
		case "content":
			i.content = m.Value
		case "summary":
			i.summary = m.Value
		case "approval_request_id":
			i.approval = m.Value
		case "environment":
			i.environment = m.Value
		case "execution":
			i.execution = m.Value
		}
	}
	return i
}

// numbers makes a JSON number of n.
func numbers(n int) jsonscan.Value {
	return jsonscan.Value{Kind: jsonscan.Number, Raw: strconv.Itoa(n)}
}

// responsesItem emits what an item says. What the provider's own tools do
// without args (web_search_call, file_search_call…) is no call. The item may be
// one of all that the end of a response repeats.
func (r reader) responsesItem(index, item jsonscan.Value, how itemHow, all jsonscan.Value) *wire.Problem {
	if !item.IsObject() {
		return wire.WrongType("item", item, "an object")
	}
	i := responsesItemFields(item)
	if !index.Present() {
		index = i.id
	}
	of := chunks.Chunk{Kind: chunks.Fragment, Message: r.d.message(), Index: wire.RawIndex(index), Final: true}
	of.ID, of.Name = r.Text(i.call), r.Text(i.name)
	if of.ID == "" { // the id to answer, which some servers leave out
		of.ID = r.Text(i.id)
	}
	switch i.kind.Str {
	case "function_call":
		of.ParentCall = r.Text(i.caller.Member("caller_id"))
	case "custom_tool_call":
		of.CallKind = "custom"
		of.ParentCall = r.Text(i.caller.Member("caller_id"))
		of.Provider = strings.HasPrefix(of.ID, "xs_call_") // xAI's search of X
	case "mcp_call":
		of.ID, of.CallKind, of.Provider = r.Text(i.id), "mcp", true
		// The call was approved, so it is not the request that waits any more.
		if id := r.Text(i.approval); id != "" && how == itemBegins {
			r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "success", Text: "approved"})
		}
	case "mcp_approval_request":
		of.ID, of.CallKind = r.Text(i.id), "mcp_approval_request"
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		of.CallKind = strings.TrimSuffix(i.kind.Str, "_call")
		of.Name, i.args = of.CallKind, i.action
		where := i.environment.Member("type").Str
		of.Provider = where != "" && where != "local"
	case "tool_search_call":
		if i.execution.Str != "client" {
			return nil
		}
		of.CallKind, of.Name = "tool_search", "tool_search"
	case "message", "reasoning":
		if how == itemWhole {
			r.responsesTexts(of, i)
		}
		return nil
	default:
		if strings.HasSuffix(i.kind.Str, "_call_output") && i.call.IsString() {
			return r.ToolResult(wire.ReadResult(item))
		}
		return nil
	}
	of.Final = of.Name != "" // where it is not there yet, the end of the item brings it
	if of.ID == "" {
		return &wire.Problem{Code: wire.BadShape, Text: "the item " + wire.Clip(i.kind.Str) + " has no id to answer: call_id and id are missing or empty"}
	}
	if how != itemWhole {
		of.ID = r.d.settle(of.Index, of.ID, how, func(id string) bool { return r.responsesHas(all, id) })
	}
	r.responsesCall(of, i, how)
	return nil
}

// responsesHas tells whether a list of items has a call of an id.
func (r reader) responsesHas(items jsonscan.Value, id string) bool {
	for e := items.Elements(); e.Next(); {
		for m := e.Value.Members(); m.Next(); {
			if (m.Key == "call_id" || m.Key == "id") && m.Value.IsString() && r.Text(m.Value) == id {
				return true
			}
		}
	}
	return false
}

// responsesCall emits a call, and what its item says beyond it: the result of
// one that the provider ran, or that it waits for a person.
func (r reader) responsesCall(of chunks.Chunk, i responsesFieldsOfItem, how itemHow) {
	args, object := r.Text(i.args), i.args.IsObject() || i.args.IsArray()
	if object {
		args = r.Compact(i.args.Raw)
	}
	if how == itemBegins {
		if !object {
			of.Args = args
		}
		r.Emit(of)
		return
	}
	// First that there is such a call in this message: a full call alone might
	// be taken for one of an earlier response that used the same id.
	r.Emit(of)
	if i.status.Str == "incomplete" || how == itemCut && !object && of.CallKind != "custom" && !wire.Valid(args) {
		return // the deltas had what there is
	}
	of.Args, of.Object, of.Whole = args, object, true
	r.Emit(of)
	switch {
	case of.CallKind == "mcp_approval_request":
		r.Emit(chunks.Chunk{Kind: chunks.Await, Message: of.Message, ID: of.ID, Why: "approval", InterruptID: of.ID})
	case of.CallKind == "mcp":
		r.responsesOutcome(of, i)
	case of.CallKind == "custom" && of.Provider && i.status.Str == "completed":
		// What it found the provider keeps to itself.
		r.Emit(chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Status: "success"})
	}
}

// responsesOutcome emits the result of an mcp_call, if it is over.
func (r reader) responsesOutcome(of chunks.Chunk, i responsesFieldsOfItem) {
	c := chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Name: of.Name, Status: "success"}
	switch {
	case i.failure.Present():
		c.Status = "error"
		if content := i.failure.Member("content"); content.IsArray() {
			c.Content = r.Compact(content.Raw)
		} else {
			c.Text = r.FailureText(i.failure)
		}
	case i.status.Str == "failed":
		c.Status, c.Text = "error", r.Text(i.output)
	case i.output.IsNested():
		c.Content = r.Compact(i.output.Raw)
	case i.output.Present() || i.status.Str == "completed":
		c.Text = r.Text(i.output)
	default:
		return
	}
	r.Emit(c)
}

// responsesTexts emits the content of a message or a reasoning item.
func (r reader) responsesTexts(of chunks.Chunk, i responsesFieldsOfItem) {
	kind := chunks.Text
	if i.kind.Str == "reasoning" {
		kind = chunks.Reasoning
	}
	part := jsonscan.Value{Kind: jsonscan.Number, Raw: of.Index}.Int() * partsOfItem
	for _, list := range [...]jsonscan.Value{i.summary, i.content} {
		for e := list.Elements(); e.Next(); part++ {
			for m := e.Value.Members(); m.Next(); {
				if m.Key != "text" && m.Key != "refusal" {
					continue
				}
				if s := r.Text(m.Value); s != "" {
					r.Emit(chunks.Chunk{Kind: kind, Message: of.Message, Part: part, Text: s})
				}
			}
		}
	}
}
