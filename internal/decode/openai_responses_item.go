package decode

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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
	kind, id, call, name, args, action, status, caller, output, failure, content, summary, approval, environment, execution gjson.Result
}

func responsesItemFields(item gjson.Result) (i responsesFieldsOfItem) {
	for m := members(item); m.next(); {
		switch m.key {
		case "type":
			i.kind = m.value
		case "id":
			i.id = m.value
		case "call_id":
			i.call = m.value
		case "name":
			i.name = m.value
		case "arguments", "input":
			i.args = m.value
		case "action", "actions", "operation":
			i.action = m.value
		case "status":
			i.status = m.value
		case "caller":
			i.caller = m.value
		case "output":
			i.output = m.value
		case "error":
			i.failure = m.value
		case "content":
			i.content = m.value
		case "summary":
			i.summary = m.value
		case "approval_request_id":
			i.approval = m.value
		case "environment":
			i.environment = m.value
		case "execution":
			i.execution = m.value
		}
	}
	return i
}

// numbers makes a JSON number of n.
func numbers(n int) gjson.Result {
	return gjson.Result{Type: gjson.Number, Raw: strconv.Itoa(n)}
}

// responsesItem emits what an item says. What the provider's own tools do
// without args (web_search_call, file_search_call…) is no call. The item may be
// one of all that the end of a response repeats.
func (r *Reader) responsesItem(index, item gjson.Result, how itemHow, all gjson.Result) *Problem {
	if !isObject(item) {
		return wrongType("item", item, "an object")
	}
	i := responsesItemFields(item)
	if !present(index) {
		index = i.id
	}
	of := chunks.Chunk{Kind: chunks.Fragment, Message: partOf(&r.mem.Responses).message(), Index: rawIndex(index), Final: true}
	of.ID, of.Name = r.text(i.call), r.text(i.name)
	if of.ID == "" { // the id to answer, which some servers leave out
		of.ID = r.text(i.id)
	}
	switch i.kind.Str {
	case "function_call":
		of.ParentCall = r.text(member(i.caller, "caller_id"))
	case "custom_tool_call":
		of.CallKind = "custom"
		of.ParentCall = r.text(member(i.caller, "caller_id"))
		of.Provider = strings.HasPrefix(of.ID, "xs_call_") // xAI's search of X
	case "mcp_call":
		of.ID, of.CallKind, of.Provider = r.text(i.id), "mcp", true
		// The call was approved, so it is not the request that waits any more.
		if id := r.text(i.approval); id != "" && how == itemBegins {
			r.emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "success", Text: "approved"})
		}
	case "mcp_approval_request":
		of.ID, of.CallKind = r.text(i.id), "mcp_approval_request"
	case "local_shell_call", "shell_call", "apply_patch_call", "computer_call":
		of.CallKind = strings.TrimSuffix(i.kind.Str, "_call")
		of.Name, i.args = of.CallKind, i.action
		where := member(i.environment, "type").Str
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
		if strings.HasSuffix(i.kind.Str, "_call_output") && isString(i.call) {
			return r.toolResult(resultFields(item))
		}
		return nil
	}
	of.Final = of.Name != "" // where it is not there yet, the end of the item brings it
	if of.ID == "" {
		return &Problem{Code: BadShape, Text: "the item " + clip(i.kind.Str) + " has no id to answer: call_id and id are missing or empty"}
	}
	if how != itemWhole {
		of.ID = partOf(&r.mem.Responses).settle(of.Index, of.ID, how, func(id string) bool { return r.responsesHas(all, id) })
	}
	r.responsesCall(of, i, how)
	return nil
}

// responsesHas tells whether a list of items has a call of an id.
func (r *Reader) responsesHas(items gjson.Result, id string) bool {
	for e := elements(items); e.next(); {
		for m := members(e.value); m.next(); {
			if (m.key == "call_id" || m.key == "id") && isString(m.value) && r.text(m.value) == id {
				return true
			}
		}
	}
	return false
}

// responsesCall emits a call, and what its item says beyond it: the result of
// one that the provider ran, or that it waits for a person.
func (r *Reader) responsesCall(of chunks.Chunk, i responsesFieldsOfItem, how itemHow) {
	args, object := r.text(i.args), isObject(i.args) || isArray(i.args)
	if object {
		args = r.compact(i.args.Raw)
	}
	if how == itemBegins {
		if !object {
			of.Args = args
		}
		r.emit(of)
		return
	}
	// First that there is such a call in this message: a full call alone might
	// be taken for one of an earlier response that used the same id.
	r.emit(of)
	if i.status.Str == "incomplete" || how == itemCut && !object && of.CallKind != "custom" && !jsonText(args) {
		return // the deltas had what there is
	}
	of.Args, of.Object, of.Whole = args, object, true
	r.emit(of)
	switch {
	case of.CallKind == "mcp_approval_request":
		r.emit(chunks.Chunk{Kind: chunks.Await, Message: of.Message, ID: of.ID, Why: "approval", InterruptID: of.ID})
	case of.CallKind == "mcp":
		r.responsesOutcome(of, i)
	case of.CallKind == "custom" && of.Provider && i.status.Str == "completed":
		// What it found the provider keeps to itself.
		r.emit(chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Status: "success"})
	}
}

// responsesOutcome emits the result of an mcp_call, if it is over.
func (r *Reader) responsesOutcome(of chunks.Chunk, i responsesFieldsOfItem) {
	c := chunks.Chunk{Kind: chunks.Result, Message: of.Message, ID: of.ID, Name: of.Name, Status: "success"}
	switch {
	case present(i.failure):
		c.Status = "error"
		if content := member(i.failure, "content"); isArray(content) {
			c.Content = r.compact(content.Raw)
		} else {
			c.Text = r.failureText(i.failure)
		}
	case i.status.Str == "failed":
		c.Status, c.Text = "error", r.text(i.output)
	case i.output.Type == gjson.JSON:
		c.Content = r.compact(i.output.Raw)
	case present(i.output) || i.status.Str == "completed":
		c.Text = r.text(i.output)
	default:
		return
	}
	r.emit(c)
}

// responsesTexts emits the content of a message or a reasoning item.
func (r *Reader) responsesTexts(of chunks.Chunk, i responsesFieldsOfItem) {
	kind := chunks.Text
	if i.kind.Str == "reasoning" {
		kind = chunks.Reasoning
	}
	part := integer(gjson.Result{Type: gjson.Number, Raw: of.Index}) * partsOfItem
	for _, list := range [...]gjson.Result{i.summary, i.content} {
		for e := elements(list); e.next(); part++ {
			for m := members(e.value); m.next(); {
				if m.key != "text" && m.key != "refusal" {
					continue
				}
				if s := r.text(m.value); s != "" {
					r.emit(chunks.Chunk{Kind: kind, Message: of.Message, Part: part, Text: s})
				}
			}
		}
	}
}

// responsesApproval reads the answer of a person to an mcp_approval_request.
func (r *Reader) responsesApproval(v gjson.Result) *Problem {
	w := body{r: r}
	c := chunks.Chunk{Kind: chunks.Result, Status: "success"}
	var approve gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "approval_request_id":
			c.ID = w.text(m.key, m.value)
		case "approve":
			approve = m.value
		case "reason":
			c.Text = w.text(m.key, m.value)
		}
	}
	switch {
	case w.problem != nil:
		return w.problem
	case approve.Type == gjson.False && approve.Raw != "":
		c.Status = "denied"
	case approve.Type != gjson.True:
		return wrongType("approve", approve, "a boolean")
	}
	if c.ID == "" {
		return &Problem{Code: BadShape, Text: "the result names no call: approval_request_id is missing or empty"}
	}
	r.emit(c)
	return nil
}
