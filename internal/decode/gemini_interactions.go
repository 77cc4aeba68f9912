package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Google's Interactions: https://ai.google.dev/gemini-api/docs/interactions/streaming
//
//	{"event_type":"interaction.created","interaction":{"id","status"}}
//	→ {"event_type":"step.start","index","step":{"type":"function_call","id","name","arguments":{}}}
//	→ {"event_type":"step.delta","index","delta":{"type":"arguments_delta","arguments":"…"}} …
//	→ {"event_type":"step.stop","index"} → {"event_type":"interaction.completed","interaction":{"status","usage"}}
//	{"event_type":"interaction.status_update","status"} and {"event_type":"error","error":{"code","message"}} anywhere
//
// Steps follow each other: thought, model_output, calls and results of the
// tools that Google runs (google_search_call, mcp_server_tool_result…), and
// function_result. The first version of the API has content.start,
// content.delta and content.stop in their place, with whole calls in the
// deltas, between interaction.start and interaction.complete.

// InteractionsMemory is what the gemini-interactions format remembers between
// events.
type InteractionsMemory struct {
	Message string    `json:"m,omitzero"` // id of the interaction that began last
	Step    string    `json:"s,omitzero"` // raw index of the step that is open
	Kind    blockKind `json:"k,omitzero"` // of that step
	Type    string    `json:"t,omitzero"` // of that step, in the wire's word
	Call    string    `json:"c,omitzero"` // id of the call that a step is the result of
	Name    string    `json:"n,omitzero"` // of its tool
}

func claimsInteractions(f Frame) claim {
	kind := member(f.JSON, "event_type").Str
	switch {
	case strings.HasPrefix(kind, "interaction."), strings.HasPrefix(kind, "step."):
		return surely
	case kind == "content.start", kind == "content.delta", kind == "content.stop":
		return surely
	case kind == "error":
		return surely
	}
	return no
}

// interactionEvent is an event's members, whatever its type.
type interactionEvent struct {
	kind, index, step, delta, interaction, status, failure gjson.Result
}

func decodeInteractions(r *Reader, f Frame) *Problem {
	var e interactionEvent
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "event_type":
			e.kind = m.value
		case "index":
			e.index = m.value
		case "step", "content":
			e.step = m.value
		case "delta":
			e.delta = m.value
		case "interaction":
			e.interaction = m.value
		case "status":
			e.status = m.value
		case "error":
			e.failure = m.value
		}
	}
	mem := partOf(&r.mem.Interactions)
	switch e.kind.Str {
	case "step.delta", "content.delta":
		return r.interactionDelta(mem, e)
	case "step.start", "content.start":
		return r.interactionStep(mem, e)
	case "step.stop", "content.stop":
		r.interactionStop(mem, e.index)
	case "interaction.created", "interaction.start":
		return r.interactionBegin(mem, e.interaction)
	case "interaction.completed", "interaction.complete":
		return r.interactionEnd(mem, e.interaction)
	case "interaction.status_update":
		r.interactionStatus(mem, e.status, e.failure, false)
	case "error":
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: r.failureText(e.failure)})
		mem.leave()
	}
	return nil
}

// leave forgets the step that is open.
func (m *InteractionsMemory) leave() { *m = InteractionsMemory{Message: m.Message} }

func (r *Reader) interactionBegin(mem *InteractionsMemory, v gjson.Result) *Problem {
	if !isObject(v) {
		return wrongType("interaction", v, "an object")
	}
	id := r.text(member(v, "id"))
	// A stream that is taken up again may tell the beginning again.
	fresh := id == "" || id != mem.Message
	*mem = InteractionsMemory{Message: keep(id, keptID)}
	r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Fresh: fresh})
	return nil
}

// interactionStep begins a step. One whose end was not told has all it gets.
func (r *Reader) interactionStep(mem *InteractionsMemory, e interactionEvent) *Problem {
	if !isObject(e.step) {
		return wrongType("step", e.step, "an object")
	}
	if mem.Kind == callBlock && mem.Step != e.index.Raw {
		r.emit(chunks.Chunk{Kind: chunks.Next, Message: mem.Message, Index: e.index.Raw})
	}
	mem.leave()
	mem.Step = keep(e.index.Raw, keptID)
	mem.Type = keep(r.text(member(e.step, "type")), keptID)
	mem.Kind = stepKind(mem.Type)
	return r.interactionPart(mem, e.index, e.step)
}

func stepKind(name string) blockKind {
	switch {
	case name == "text", name == "thought", name == "model_output":
		return partBlock
	case strings.HasSuffix(name, "_call"):
		return callBlock
	}
	return otherBlock
}

func (r *Reader) interactionDelta(mem *InteractionsMemory, e interactionEvent) *Problem {
	if !isObject(e.delta) {
		return wrongType("delta", e.delta, "an object")
	}
	if mem.Step != e.index.Raw {
		// The first version's deltas, and streams that are joined in the middle.
		mem.leave()
		mem.Step = keep(e.index.Raw, keptID)
	}
	return r.interactionPart(mem, e.index, e.delta)
}

// interactionPart emits what the beginning of a step and a delta may both say.
func (r *Reader) interactionPart(mem *InteractionsMemory, index, part gjson.Result) *Problem {
	var kind, id, call, name, args, text, content, summary, result, failed gjson.Result
	for m := members(part); m.next(); {
		switch m.key {
		case "type":
			kind = m.value
		case "id":
			id = m.value
		case "call_id":
			call = m.value
		case "name":
			name = m.value
		case "arguments":
			args = m.value
		case "text", "thought":
			text = m.value
		case "content":
			content = m.value
		case "summary":
			summary = m.value
		case "result":
			result = m.value
		case "is_error":
			failed = m.value
		}
	}
	word := kind.Str
	switch {
	case word == "arguments_delta", strings.HasSuffix(word, "_call"):
		return r.interactionCall(mem, word, index, id, name, args)
	case strings.HasSuffix(word, "_result"):
		return r.interactionResult(mem, call, name, result, failed)
	case word == "text", word == "model_output":
		r.interactionText(mem, chunks.Text, index, text)
		r.interactionText(mem, chunks.Text, index, content)
	case word == "thought", word == "thought_summary":
		r.interactionText(mem, chunks.Reasoning, index, text)
		r.interactionText(mem, chunks.Reasoning, index, content)
		r.interactionText(mem, chunks.Reasoning, index, summary)
	}
	return nil
}

// interactionText emits a string, or what has type text in an object or list.
func (r *Reader) interactionText(mem *InteractionsMemory, kind chunks.Kind, index, v gjson.Result) {
	if isObject(v) {
		v = member(v, "text")
	}
	for e := elements(v); e.next(); {
		if s := member(e.value, "text"); s.Type == gjson.String {
			r.interactionText(mem, kind, index, s)
		}
	}
	if s := r.text(v); s != "" {
		r.emit(chunks.Chunk{Kind: kind, Message: mem.Message, Part: integer(index), Text: s})
	}
}

// interactionCall emits a call's beginning, or args of it: text, or an object
// that is whole. An empty object at the beginning says nothing yet.
func (r *Reader) interactionCall(mem *InteractionsMemory, word string, index, id, name, args gjson.Result) *Problem {
	c := chunks.Chunk{Kind: chunks.Fragment, Message: mem.Message, Index: index.Raw}
	if word != "arguments_delta" {
		mem.Kind = callBlock
		c.ID, c.Name = r.text(id), r.text(name)
		c.CallKind, c.Provider = interactionCallKind(word)
		if c.Provider && c.CallKind == "server" {
			c.Name = strings.TrimSuffix(word, "_call")
		}
		c.Final = c.ID != "" || c.Name != ""
	}
	switch {
	case isObject(args):
		if c.Args = r.compact(args.Raw); c.Args != "{}" {
			c.Object = true
		} else {
			c.Args = ""
		}
	case present(args) && args.Type != gjson.String:
		return wrongType("arguments", args, "a string or an object")
	default:
		c.Args = r.text(args)
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		r.emit(c)
	}
	return nil
}

func interactionCallKind(word string) (kind string, provider bool) {
	switch word {
	case "function_call":
		return "", false
	case "mcp_server_tool_call":
		return "mcp", true
	}
	return "server", true
}

// interactionResult emits a result once it is there: the beginning of its step
// names the call, and a delta may bring the rest.
func (r *Reader) interactionResult(mem *InteractionsMemory, call, name, result, failed gjson.Result) *Problem {
	if s := r.text(call); s != "" {
		mem.Call = keep(s, keptID)
	}
	if s := r.text(name); s != "" {
		mem.Name = keep(s, keptID)
	}
	if !present(result) {
		return nil
	}
	if mem.Call == "" {
		return &Problem{Code: BadShape, Text: "the result names no call: call_id is missing or empty"}
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: mem.Call, Name: mem.Name, Status: "success"}
	if failed.Type == gjson.True {
		c.Status = "error"
	}
	if result.Type == gjson.JSON {
		c.Content = r.compact(result.Raw)
	} else {
		c.Text = r.text(result)
	}
	r.emit(c)
	return nil
}

func (r *Reader) interactionStop(mem *InteractionsMemory, index gjson.Result) {
	kind := callBlock // of a step whose beginning was not seen
	if mem.Step == index.Raw {
		kind = mem.Kind
		mem.leave()
	}
	switch kind {
	case callBlock:
		r.emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, Index: index.Raw})
	case partBlock:
		r.emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: integer(index)})
	}
}

func (r *Reader) interactionEnd(mem *InteractionsMemory, v gjson.Result) *Problem {
	if !isObject(v) {
		return wrongType("interaction", v, "an object")
	}
	var id, status, usage, failure gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "status":
			status = m.value
		case "usage":
			usage = m.value
		case "error":
			failure = m.value
		}
	}
	if s := r.text(id); s != "" {
		mem.Message = keep(s, keptID)
	}
	if isObject(usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: usage.Raw})
	}
	r.interactionStatus(mem, status, failure, true)
	return nil
}

// interactionStatus reads a status; over says that nothing more comes.
func (r *Reader) interactionStatus(mem *InteractionsMemory, v, failure gjson.Result, over bool) {
	switch status := r.text(v); {
	case status == "failed":
		text := r.failureText(failure)
		if text == "" {
			text = "the interaction failed"
		}
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: text})
		mem.leave()
	case status == "cancelled":
		r.emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: "the interaction was cancelled"})
		mem.leave()
	case over:
		if status == "" {
			status = "completed"
		}
		r.emit(chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: status, Truncated: status != "completed" && status != "requires_action"})
		r.emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
		mem.leave()
	}
}
