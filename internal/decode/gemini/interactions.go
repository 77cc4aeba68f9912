package gemini

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
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

// InteractionsDecoder is what the gemini-interactions format remembers between
// events.
type InteractionsDecoder struct {
	Message string         `json:"m,omitzero"` // id of the interaction that began last
	Step    string         `json:"s,omitzero"` // raw index of the step that is open
	Kind    wire.BlockKind `json:"k,omitzero"` // of that step
	Type    string         `json:"t,omitzero"` // of that step, in the wire's word
	Call    string         `json:"c,omitzero"` // id of the call that a step is the result of
	Name    string         `json:"n,omitzero"` // of its tool
}

func claimsInteractions(f wire.Frame) wire.Claim {
	kind := f.JSON.Member("event_type").Str
	switch {
	case strings.HasPrefix(kind, "interaction."), strings.HasPrefix(kind, "step."):
		return wire.Surely
	case kind == "content.start", kind == "content.delta", kind == "content.stop":
		return wire.Surely
	case kind == "error":
		return wire.Surely
	}
	return wire.No
}

// interactionEvent is an event's members, whatever its type.
type interactionEvent struct {
	kind, index, step, delta, interaction, status, failure jsonscan.Value
}

// Interactions is the format gemini-interactions.
type Interactions struct{}

// Name returns the name of the format.
func (Interactions) Name() string { return "gemini-interactions" }

// Shape returns the name of the history shape.
func (Interactions) Shape() string { return "openai" }

// Claims reports whether a frame can be of this format.
func (Interactions) Claims(f wire.Frame) wire.Claim { return claimsInteractions(f) }

// New returns a Decoder without state.
func (Interactions) New() wire.Decoder { return new(InteractionsDecoder) }

// Clone returns an independent copy.
func (d *InteractionsDecoder) Clone() wire.Decoder {
	c := *d
	return &c
}

// Decode emits the chunks of a frame.
func (d *InteractionsDecoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	r, mem := reader{Writer: w}, d
	var e interactionEvent
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "event_type":
			e.kind = m.Value
		case "index":
			e.index = m.Value
		case "step", "content":
			e.step = m.Value
		case "delta":
			e.delta = m.Value
		case "interaction":
			e.interaction = m.Value
		case "status":
			e.status = m.Value
		case "error":
			e.failure = m.Value
		}
	}
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
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: r.FailureText(e.failure)})
		mem.leave()
	}
	return nil
}

// leave forgets the step that is open.
func (m *InteractionsDecoder) leave() { *m = InteractionsDecoder{Message: m.Message} }

func (r reader) interactionBegin(mem *InteractionsDecoder, v jsonscan.Value) *wire.Problem {
	if !v.IsObject() {
		return wire.WrongType("interaction", v, "an object")
	}
	id := r.Text(v.Member("id"))
	// A stream that is taken up again may tell the beginning again.
	fresh := id == "" || id != mem.Message
	*mem = InteractionsDecoder{Message: wire.Keep(id)}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Fresh: fresh})
	return nil
}

// interactionStep begins a step. One whose end was not told has all it gets.
func (r reader) interactionStep(mem *InteractionsDecoder, e interactionEvent) *wire.Problem {
	if !e.step.IsObject() {
		return wire.WrongType("step", e.step, "an object")
	}
	if mem.Kind == wire.CallBlock && mem.Step != e.index.Raw {
		r.Emit(chunks.Chunk{Kind: chunks.Next, Message: mem.Message, Index: e.index.Raw})
	}
	mem.leave()
	mem.Step = wire.Keep(e.index.Raw)
	mem.Type = wire.Keep(r.Text(e.step.Member("type")))
	mem.Kind = stepKind(mem.Type)
	return r.interactionPart(mem, e.index, e.step)
}

func stepKind(name string) wire.BlockKind {
	switch {
	case name == "text", name == "thought", name == "model_output":
		return wire.PartBlock
	case strings.HasSuffix(name, "_call"):
		return wire.CallBlock
	}
	return wire.OtherBlock
}

func (r reader) interactionDelta(mem *InteractionsDecoder, e interactionEvent) *wire.Problem {
	if !e.delta.IsObject() {
		return wire.WrongType("delta", e.delta, "an object")
	}
	if mem.Step != e.index.Raw {
		// The first version's deltas, and streams that are joined in the middle.
		mem.leave()
		mem.Step = wire.Keep(e.index.Raw)
	}
	return r.interactionPart(mem, e.index, e.delta)
}

// interactionPart emits what the beginning of a step and a delta may both say.
func (r reader) interactionPart(mem *InteractionsDecoder, index, part jsonscan.Value) *wire.Problem {
	var kind, id, call, name, args, text, content, summary, result, failed jsonscan.Value
	for m := part.Members(); m.Next(); {
		switch m.Key {
		case "type":
			kind = m.Value
		case "id":
			id = m.Value
		case "call_id":
			call = m.Value
		case "name":
			name = m.Value
		case "arguments":
			args = m.Value
		case "text", "thought":
			text = m.Value
		case "content":
			content = m.Value
		case "summary":
			summary = m.Value
		case "result":
			result = m.Value
		case "is_error":
			failed = m.Value
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
func (r reader) interactionText(mem *InteractionsDecoder, kind chunks.Kind, index, v jsonscan.Value) {
	if v.IsObject() {
		v = v.Member("text")
	}
	for e := v.Elements(); e.Next(); {
		if s := e.Value.Member("text"); s.IsString() {
			r.interactionText(mem, kind, index, s)
		}
	}
	if s := r.Text(v); s != "" {
		r.Emit(chunks.Chunk{Kind: kind, Message: mem.Message, Part: index.Int(), Text: s})
	}
}

// interactionCall emits a call's beginning, or args of it: text, or an object
// that is whole. An empty object at the beginning says nothing yet.
func (r reader) interactionCall(mem *InteractionsDecoder, word string, index, id, name, args jsonscan.Value) *wire.Problem {
	c := chunks.Chunk{Kind: chunks.Fragment, Message: mem.Message, Index: index.Raw}
	if word != "arguments_delta" {
		mem.Kind = wire.CallBlock
		c.ID, c.Name = r.Text(id), r.Text(name)
		c.CallKind, c.Provider = interactionCallKind(word)
		if c.Provider && c.CallKind == "server" {
			c.Name = strings.TrimSuffix(word, "_call")
		}
		c.Final = c.ID != "" || c.Name != ""
	}
	switch {
	case args.IsObject():
		if c.Args = r.Compact(args.Raw); c.Args != "{}" {
			c.Object = true
		} else {
			c.Args = ""
		}
	case args.Present() && args.Kind != jsonscan.String:
		return wire.WrongType("arguments", args, "a string or an object")
	default:
		c.Args = r.Text(args)
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		r.Emit(c)
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
func (r reader) interactionResult(mem *InteractionsDecoder, call, name, result, failed jsonscan.Value) *wire.Problem {
	if s := r.Text(call); s != "" {
		mem.Call = wire.Keep(s)
	}
	if s := r.Text(name); s != "" {
		mem.Name = wire.Keep(s)
	}
	if !result.Present() {
		return nil
	}
	if mem.Call == "" {
		return &wire.Problem{Code: wire.BadShape, Text: "the result names no call: call_id is missing or empty"}
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: mem.Call, Name: mem.Name, Status: "success"}
	if failed.Kind == jsonscan.True {
		c.Status = "error"
	}
	if result.IsNested() {
		c.Content = r.Compact(result.Raw)
	} else {
		c.Text = r.Text(result)
	}
	r.Emit(c)
	return nil
}

func (r reader) interactionStop(mem *InteractionsDecoder, index jsonscan.Value) {
	kind := wire.CallBlock // of a step whose beginning was not seen
	if mem.Step == index.Raw {
		kind = mem.Kind
		mem.leave()
	}
	switch kind {
	case wire.CallBlock:
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, Index: index.Raw})
	case wire.PartBlock:
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: index.Int()})
	}
}

func (r reader) interactionEnd(mem *InteractionsDecoder, v jsonscan.Value) *wire.Problem {
	if !v.IsObject() {
		return wire.WrongType("interaction", v, "an object")
	}
	var id, status, usage, failure jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "status":
			status = m.Value
		case "usage":
			usage = m.Value
		case "error":
			failure = m.Value
		}
	}
	if s := r.Text(id); s != "" {
		mem.Message = wire.Keep(s)
	}
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: usage.Raw})
	}
	r.interactionStatus(mem, status, failure, true)
	return nil
}

// interactionStatus reads a status; over says that nothing more comes.
func (r reader) interactionStatus(mem *InteractionsDecoder, v, failure jsonscan.Value, over bool) {
	switch status := r.Text(v); {
	case status == "failed":
		text := r.FailureText(failure)
		if text == "" {
			text = "the interaction failed"
		}
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: text})
		mem.leave()
	case status == "cancelled":
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: "the interaction was cancelled"})
		mem.leave()
	case over:
		if status == "" {
			status = "completed"
		}
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: status, Truncated: status != "completed" && status != "requires_action"})
		r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
		mem.leave()
	}
}
