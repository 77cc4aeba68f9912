package decode

import (
	"slices"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// OpenAI's Responses, and what Azure, xAI, DeepSeek, LM Studio and others make
// of them: https://platform.openai.com/docs/api-reference/responses-streaming
//
//	response.created{response:{id}}
//	→ response.output_item.added{output_index,item:{type:"function_call",id,call_id,name,arguments:""}}
//	→ response.function_call_arguments.delta{output_index,item_id,delta} … → ….done{arguments}
//	→ response.output_item.done{output_index,item:{…,arguments,status}}
//	→ response.completed | incomplete | failed {response:{output,usage,…}}, or error
//
// A call is answered by its call_id. Items are told apart by their output_index:
// some proxies give an item another id in each event.

// ResponsesMemory is what the openai-responses format remembers between events.
type ResponsesMemory struct {
	Message string `json:"m,omitzero"` // id of the response that began last
	Open    bool   `json:"o,omitzero"` // it has not ended
	// Calls are those of the response, the latest at the end.
	Calls []ResponsesCall `json:"c,omitzero"`
}

// ResponsesCall is a call that was told.
type ResponsesCall struct {
	Index string `json:"i,omitzero"` // raw
	ID    string `json:"d"`
	Done  bool   `json:"e,omitzero"` // its item has ended
}

// keptCalls bounds the calls that are remembered of a response.
const keptCalls = 128

// settle gives the id that a call goes by: some servers make up another one for
// the end of its item, or of its response. others are the ids in that end.
func (m *ResponsesMemory) settle(index, id string, how itemHow, others func(id string) bool) string {
	if len(id) > keptID || len(index) > keptID {
		return id
	}
	at := slices.IndexFunc(m.Calls, func(c ResponsesCall) bool { return c.ID == id })
	if at < 0 && how != itemBegins {
		at = slices.IndexFunc(m.Calls, func(c ResponsesCall) bool {
			return c.Index == index && (how == itemEnds && !c.Done || how > itemEnds && !others(c.ID))
		})
	}
	if at < 0 {
		m.Calls = append(room(m.Calls, keptCalls), ResponsesCall{Index: strings.Clone(index), ID: strings.Clone(id)})
		at = len(m.Calls) - 1
	}
	c := &m.Calls[at]
	c.Done = c.Done || how != itemBegins
	return c.ID
}

// message gives the id of the response that events belong to.
func (m *ResponsesMemory) message() string {
	if m.Open {
		return m.Message
	}
	return ""
}

func claimsResponses(f Frame) claim {
	if f.Done {
		return perhaps
	}
	var kind, id, object, output, failure, message gjson.Result
	numbered := false
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "type":
			if kind = m.value; strings.HasPrefix(kind.Str, "response.") {
				return surely
			}
		case "sequence_number":
			numbered = true
		case "id":
			id = m.value
		case "object":
			object = m.value
		case "output":
			output = m.value
		case "error":
			failure = m.value
		case "message":
			message = m.value
		}
	}
	switch kind.Str {
	case "":
		if object.Str == "response" && isArray(output) {
			return surely
		}
	case "function_call_output", "custom_tool_call_output", "mcp_approval_response":
		return surely
	case "error":
		switch {
		case numbered:
			return surely
		case isString(message) && !present(failure) && !present(id):
			return perhaps
		case present(failure):
			return ifKnown
		}
	case "keepalive":
		if numbered {
			return perhaps
		}
	}
	return no
}

// responsesEvent is an event's members, whatever its type.
type responsesEvent struct {
	index, itemID, part, delta, arguments, item, response, failure, message, code gjson.Result
}

// place gives what tells the item of an event from others: its output_index,
// or, where a server leaves that out, its id.
func (e *responsesEvent) place() gjson.Result {
	if present(e.index) {
		return e.index
	}
	return e.itemID
}

func decodeResponses(r *Reader, f Frame) *Problem {
	if f.Done {
		r.emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	var kind gjson.Result
	var e responsesEvent
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "type":
			kind = m.value
		case "output_index":
			e.index = m.value
		case "item_id":
			e.itemID = m.value
		case "content_index", "summary_index":
			e.part = m.value
		case "delta":
			e.delta = m.value
		case "arguments", "input":
			e.arguments = m.value
		case "item":
			e.item = m.value
		case "response":
			e.response = m.value
		case "error":
			e.failure = m.value
		case "message":
			e.message = m.value
		case "code":
			e.code = m.value
		}
	}
	if kind.Raw == "" {
		return r.responsesWhole(f.JSON)
	}
	if name, ok := strings.CutPrefix(kind.Str, "response."); ok {
		return r.responsesEvent(name, e)
	}
	switch {
	case kind.Str == "error":
		r.responsesFailure(e.failure, e.message, e.code)
	case kind.Str != "keepalive":
		return r.result(f.JSON)
	}
	return nil
}

// responsesEvent reads an event by its name without the prefix.
func (r *Reader) responsesEvent(name string, e responsesEvent) *Problem {
	switch name {
	case "created", "queued", "in_progress":
		return r.responsesStart(name, e.response)
	case "completed", "incomplete", "failed", "cancelled":
		return r.responsesEnd(name, e.response)
	case "done": // so the Realtime API and some proxies end it, whatever its status
		return r.responsesEnd(member(e.response, "status").Str, e.response)
	case "output_item.added":
		return r.responsesItem(e.index, e.item, itemBegins, gjson.Result{})
	case "output_item.done":
		return r.responsesItem(e.index, e.item, itemEnds, gjson.Result{})
	case "function_call_arguments.delta", "mcp_call_arguments.delta", "custom_tool_call_input.delta":
		return r.responsesDelta(name, chunks.Chunk{Kind: chunks.Fragment, Index: rawIndex(e.place())}, e.delta)
	case "function_call_arguments.done", "mcp_call_arguments.done", "custom_tool_call_input.done":
		return r.responsesArgs(name, e)
	case "output_text.delta", "refusal.delta":
		return r.responsesDelta(name, chunks.Chunk{Kind: chunks.Text, Part: e.number()}, e.delta)
	case "reasoning_text.delta", "reasoning_summary_text.delta":
		return r.responsesDelta(name, chunks.Chunk{Kind: chunks.Reasoning, Part: e.number()}, e.delta)
	case "output_text.done", "refusal.done", "reasoning_text.done", "reasoning_summary_text.done":
		r.emit(chunks.Chunk{Kind: chunks.PartEnd, Message: partOf(&r.mem.Responses).message(), Part: e.number()})
	}
	return nil // of parts, annotations, and what the provider's own tools do
}

// rawIndex gives an index as it stands on the wire, "" where there is none.
func rawIndex(v gjson.Result) string {
	if !present(v) {
		return ""
	}
	return v.Raw
}

// partsOfItem is more parts than an item has.
const partsOfItem = 1 << 12

// number numbers a content part among all of the response.
func (e *responsesEvent) number() int { return integer(e.index)*partsOfItem + integer(e.part) }

// responsesDelta emits a piece of args or of text.
func (r *Reader) responsesDelta(name string, of chunks.Chunk, delta gjson.Result) *Problem {
	if !isString(delta) {
		return wrongType("delta of response."+name, delta, "a string")
	}
	s := r.text(delta)
	if s == "" {
		return nil
	}
	if of.Message = partOf(&r.mem.Responses).message(); of.Kind == chunks.Fragment {
		of.Args = s
	} else {
		of.Text = s
	}
	r.emit(of)
	return nil
}

// responsesArgs takes the end of a call's args. They are said again in full,
// which counts where there were no deltas (LM Studio). Where deltas were lost,
// and the text is no JSON, the end of the item puts it right.
func (r *Reader) responsesArgs(name string, e responsesEvent) *Problem {
	free := name == "custom_tool_call_input.done"
	if free && !present(e.arguments) {
		return nil
	}
	if !isString(e.arguments) {
		return wrongType("arguments of response."+name, e.arguments, "a string")
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: partOf(&r.mem.Responses).message(), Index: rawIndex(e.place())}
	args := r.text(e.arguments)
	if !free && strings.TrimSpace(args) != "" && !jsonText(args) {
		return nil // the model was cut off
	}
	if args != "" {
		c.Args, c.Object, c.Weak = args, true, true
		r.emit(c)
	}
	if !free { // whether free text lacks a piece, only the end of the item tells
		r.emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, Index: c.Index})
	}
	return nil
}

// responsesStart begins a response. Of one that is under way only the
// beginning counts; who joins late has none.
func (r *Reader) responsesStart(name string, response gjson.Result) *Problem {
	if !isObject(response) {
		return wrongType("response of response."+name, response, "an object")
	}
	mem := partOf(&r.mem.Responses)
	id := r.text(member(response, "id"))
	if name != "created" && (mem.Open || mem.Message == id) {
		return nil
	}
	*mem = ResponsesMemory{Message: keep(id, keptID), Open: true}
	r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	return nil
}

// responsesBody is what matters of a whole response.
type responsesBody struct {
	id, status, output, usage, failure, details gjson.Result
}

func responsesFields(response gjson.Result) (b responsesBody) {
	for m := members(response); m.next(); {
		switch m.key {
		case "id":
			b.id = m.value
		case "status":
			b.status = m.value
		case "output":
			b.output = m.value
		case "usage":
			b.usage = m.value
		case "error":
			b.failure = m.value
		case "incomplete_details":
			b.details = m.value
		}
	}
	return b
}

// responsesEnd ends a response. It repeats all items, for those that missed
// them.
func (r *Reader) responsesEnd(name string, response gjson.Result) *Problem {
	if !isObject(response) {
		return wrongType("response of response."+name, response, "an object")
	}
	b := responsesFields(response)
	mem := partOf(&r.mem.Responses)
	if !mem.Open {
		mem.Message = keep(r.text(b.id), keptID)
		mem.Open = true
	}
	return r.responsesOutput(name, b, false)
}

// responsesWhole reads a response that was not streamed.
func (r *Reader) responsesWhole(response gjson.Result) *Problem {
	b := responsesFields(response)
	mem := partOf(&r.mem.Responses)
	*mem = ResponsesMemory{Message: keep(r.text(b.id), keptID), Open: true}
	r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	return r.responsesOutput(b.status.Str, b, true)
}

// responsesOutput emits the items of a response and its end; of texts, which
// were streamed, only where texts is set.
func (r *Reader) responsesOutput(status string, b responsesBody, texts bool) (first *Problem) {
	mem := partOf(&r.mem.Responses)
	if status == "failed" || status == "cancelled" {
		message := gjson.Result{}
		if !present(b.failure) {
			message = b.status
		}
		r.responsesFailure(b.failure, message, gjson.Result{})
		return nil
	}
	how := itemRepeats
	switch {
	case texts:
		how = itemWhole
	case status == "incomplete":
		how = itemCut
	}
	at := 0
	for e := elements(b.output); e.next(); at++ {
		if p := r.responsesItem(numbers(at), e.value, how, b.output); p != nil && first == nil {
			first = p
		}
	}
	reason := status
	if s := r.text(member(b.details, "reason")); s != "" {
		reason = s
	}
	r.emit(chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: reason, Truncated: status == "incomplete"})
	if isObject(b.usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: b.usage.Raw})
	}
	r.emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
	mem.Open, mem.Calls = false, nil
	return first
}

// responsesFailure emits the end of a response that the provider broke off.
func (r *Reader) responsesFailure(failure, message, code gjson.Result) {
	text := ""
	for _, v := range [...]gjson.Result{message, code} {
		if text == "" {
			text = r.text(v)
		}
	}
	if present(failure) {
		text = r.failureText(failure)
	}
	mem := partOf(&r.mem.Responses)
	r.emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.message(), Text: text})
	mem.Open, mem.Calls = false, nil
}
