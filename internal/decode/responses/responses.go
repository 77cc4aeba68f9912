package responses

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
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

// Decoder is what the openai-responses format remembers between events.
type Decoder struct {
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
func (m *Decoder) settle(index, id string, how itemHow, others func(id string) bool) string {
	if len(id) > wire.MaxID || len(index) > wire.MaxID {
		return id
	}
	at := slices.IndexFunc(m.Calls, func(c ResponsesCall) bool { return c.ID == id })
	if at < 0 && how != itemBegins {
		at = slices.IndexFunc(m.Calls, func(c ResponsesCall) bool {
			return c.Index == index && (how == itemEnds && !c.Done || how > itemEnds && !others(c.ID))
		})
	}
	if at < 0 {
		m.Calls = append(wire.MakeRoom(m.Calls, keptCalls), ResponsesCall{Index: strings.Clone(index), ID: strings.Clone(id)})
		at = len(m.Calls) - 1
	}
	c := &m.Calls[at]
	c.Done = c.Done || how != itemBegins
	return c.ID
}

// message gives the id of the response that events belong to.
func (m *Decoder) message() string {
	if m.Open {
		return m.Message
	}
	return ""
}

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	var kind, id, object, output, failure, message jsonscan.Value
	numbered := false
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "type":
			if kind = m.Value; strings.HasPrefix(kind.Str, "response.") {
				return wire.Surely
			}
		case "sequence_number":
			numbered = true
		case "id":
			id = m.Value
		case "object":
			object = m.Value
		case "output":
			output = m.Value
		case "error":
			failure = m.Value
		case "message":
			message = m.Value
		}
	}
	switch kind.Str {
	case "":
		if object.Str == "response" && output.IsArray() {
			return wire.Surely
		}
	case "function_call_output", "custom_tool_call_output", "mcp_approval_response":
		return wire.Surely
	case "error":
		switch {
		case numbered:
			return wire.Surely
		case message.IsString() && !failure.Present() && !id.Present():
			return wire.Perhaps
		case failure.Present():
			return wire.IfKnown
		}
	case "keepalive":
		if numbered {
			return wire.Perhaps
		}
	}
	return wire.No
}

// responsesEvent is an event's members, whatever its type.
type responsesEvent struct {
	index, itemID, part, delta, arguments, item, response, failure, message, code jsonscan.Value
}

// place gives what tells the item of an event from others: its output_index,
// or, where a server leaves that out, its id.
func (e *responsesEvent) place() jsonscan.Value {
	if e.index.Present() {
		return e.index
	}
	return e.itemID
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	if f.Done {
		r.Emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	var kind jsonscan.Value
	var e responsesEvent
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "type":
			kind = m.Value
		case "output_index":
			e.index = m.Value
		case "item_id":
			e.itemID = m.Value
		case "content_index", "summary_index":
			e.part = m.Value
		case "delta":
			e.delta = m.Value
		case "arguments", "input":
			e.arguments = m.Value
		case "item":
			e.item = m.Value
		case "response":
			e.response = m.Value
		case "error":
			e.failure = m.Value
		case "message":
			e.message = m.Value
		case "code":
			e.code = m.Value
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
		return r.Result(f.JSON)
	}
	return nil
}

// responsesEvent reads an event by its name without the prefix.
func (r reader) responsesEvent(name string, e responsesEvent) *wire.Problem {
	switch name {
	case "created", "queued", "in_progress":
		return r.responsesStart(name, e.response)
	case "completed", "incomplete", "failed", "cancelled":
		return r.responsesEnd(name, e.response)
	case "done": // so the Realtime API and some proxies end it, whatever its status
		return r.responsesEnd(e.response.Member("status").Str, e.response)
	case "output_item.added":
		return r.responsesItem(e.index, e.item, itemBegins, jsonscan.Value{})
	case "output_item.done":
		return r.responsesItem(e.index, e.item, itemEnds, jsonscan.Value{})
	case "function_call_arguments.delta", "mcp_call_arguments.delta", "custom_tool_call_input.delta":
		return r.responsesDelta(name, chunks.Chunk{Kind: chunks.Fragment, Index: wire.RawIndex(e.place())}, e.delta)
	case "function_call_arguments.done", "mcp_call_arguments.done", "custom_tool_call_input.done":
		return r.responsesArgs(name, e)
	case "output_text.delta", "refusal.delta":
		return r.responsesDelta(name, chunks.Chunk{Kind: chunks.Text, Part: e.number()}, e.delta)
	case "reasoning_text.delta", "reasoning_summary_text.delta":
		return r.responsesDelta(name, chunks.Chunk{Kind: chunks.Reasoning, Part: e.number()}, e.delta)
	case "output_text.done", "refusal.done", "reasoning_text.done", "reasoning_summary_text.done":
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: r.d.message(), Part: e.number()})
	}
	return nil // of parts, annotations, and what the provider's own tools do
}

// partsOfItem is more parts than an item has.
const partsOfItem = 1 << 12

// number numbers a content part among all of the response.
func (e *responsesEvent) number() int { return e.index.Int()*partsOfItem + e.part.Int() }

// responsesDelta emits a piece of args or of text.
func (r reader) responsesDelta(name string, of chunks.Chunk, delta jsonscan.Value) *wire.Problem {
	if !delta.IsString() {
		return wire.WrongType("delta of response."+name, delta, "a string")
	}
	s := r.Text(delta)
	if s == "" {
		return nil
	}
	if of.Message = r.d.message(); of.Kind == chunks.Fragment {
		of.Args = s
	} else {
		of.Text = s
	}
	r.Emit(of)
	return nil
}

// responsesArgs takes the end of a call's args. They are said again in full,
// which counts where there were no deltas (LM Studio). Where deltas were lost,
// and the text is no JSON, the end of the item puts it right.
func (r reader) responsesArgs(name string, e responsesEvent) *wire.Problem {
	free := name == "custom_tool_call_input.done"
	if free && !e.arguments.Present() {
		return nil
	}
	if !e.arguments.IsString() {
		return wire.WrongType("arguments of response."+name, e.arguments, "a string")
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: r.d.message(), Index: wire.RawIndex(e.place())}
	args := r.Text(e.arguments)
	if !free && strings.TrimSpace(args) != "" && !wire.Valid(args) {
		return nil // the model was cut off
	}
	if args != "" {
		c.Args, c.Object, c.Weak = args, true, true
		r.Emit(c)
	}
	if !free { // whether free text lacks a piece, only the end of the item tells
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: c.Message, Index: c.Index})
	}
	return nil
}

// responsesStart begins a response. Of one that is under way only the
// beginning counts; who joins late has none.
func (r reader) responsesStart(name string, response jsonscan.Value) *wire.Problem {
	if !response.IsObject() {
		return wire.WrongType("response of response."+name, response, "an object")
	}
	mem := r.d
	id := r.Text(response.Member("id"))
	if name != "created" && (mem.Open || mem.Message == id) {
		return nil
	}
	*mem = Decoder{Message: wire.Keep(id), Open: true}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	return nil
}

// responsesBody is what matters of a whole response.
type responsesBody struct {
	id, status, output, usage, failure, details jsonscan.Value
}

func responsesFields(response jsonscan.Value) (b responsesBody) {
	for m := response.Members(); m.Next(); {
		switch m.Key {
		case "id":
			b.id = m.Value
		case "status":
			b.status = m.Value
		case "output":
			b.output = m.Value
		case "usage":
			b.usage = m.Value
		case "error":
			b.failure = m.Value
		case "incomplete_details":
			b.details = m.Value
		}
	}
	return b
}

// responsesEnd ends a response. It repeats all items, for those that missed
// them.
func (r reader) responsesEnd(name string, response jsonscan.Value) *wire.Problem {
	if !response.IsObject() {
		return wire.WrongType("response of response."+name, response, "an object")
	}
	b := responsesFields(response)
	mem := r.d
	if !mem.Open {
		mem.Message = wire.Keep(r.Text(b.id))
		mem.Open = true
	}
	return r.responsesOutput(name, b, false)
}

// responsesWhole reads a response that was not streamed.
func (r reader) responsesWhole(response jsonscan.Value) *wire.Problem {
	b := responsesFields(response)
	mem := r.d
	*mem = Decoder{Message: wire.Keep(r.Text(b.id)), Open: true}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	return r.responsesOutput(b.status.Str, b, true)
}

// responsesOutput emits the items of a response and its end; of texts, which
// were streamed, only where texts is set.
func (r reader) responsesOutput(status string, b responsesBody, texts bool) (first *wire.Problem) {
	mem := r.d
	if status == "failed" || status == "cancelled" {
		message := jsonscan.Value{}
		if !b.failure.Present() {
			message = b.status
		}
		r.responsesFailure(b.failure, message, jsonscan.Value{})
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
	for e := b.output.Elements(); e.Next(); at++ {
		if p := r.responsesItem(numbers(at), e.Value, how, b.output); p != nil && first == nil {
			first = p
		}
	}
	reason := status
	if s := r.Text(b.details.Member("reason")); s != "" {
		reason = s
	}
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: reason, Truncated: status == "incomplete"})
	if b.usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: b.usage.Raw})
	}
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
	mem.Open, mem.Calls = false, nil
	return first
}

// responsesFailure emits the end of a response that the provider broke off.
func (r reader) responsesFailure(failure, message, code jsonscan.Value) {
	text := ""
	for _, v := range [...]jsonscan.Value{message, code} {
		if text == "" {
			text = r.Text(v)
		}
	}
	if failure.Present() {
		text = r.FailureText(failure)
	}
	mem := r.d
	r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.message(), Text: text})
	mem.Open, mem.Calls = false, nil
}
