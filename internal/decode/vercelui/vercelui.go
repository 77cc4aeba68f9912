package vercelui

import (
	"strings"
	"unicode/utf8"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The UI message stream of Vercel's AI SDK:
// https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol
//
//	start{messageId?} → start-step → tool-input-start{toolCallId,toolName} → tool-input-delta{toolCallId,inputTextDelta}
//	→ tool-input-available{toolCallId,toolName,input} → tool-output-available{toolCallId,output} → finish-step → finish → [DONE]
//
// and the parts of its fullStream, which name some fields otherwise and have
// tool-input-end, tool-call, tool-result and tool-error. Those of version 4,
// tool-call-streaming-start, tool-call-delta{argsTextDelta}, tool-call{args} and
// tool-result{result} between step-start and step-finish, are read, too.
//
// One stream is a run, one step an answer of the model: a message of its own,
// all under the id of the UI message. A step's finish reason is only told at
// the end of the stream, so a step is over when the next one begins.

// Decoder is what the vercel-ui format remembers between events.
type Decoder struct {
	Message string       `json:"m,omitzero"` // id of the UI message
	Open    bool         `json:"o,omitzero"` // a stream began and has not ended
	Stepped bool         `json:"s,omitzero"` // a step of it began
	Waits   bool         `json:"w,omitzero"` // a person was asked, and has not answered
	Plain   string       `json:"x,omitzero"` // id of the call whose input is free text
	Parts   []VercelPart `json:"p,omitzero"` // open parts of content
	Part    int          `json:"n,omitzero"` // the number of the latest
}

// VercelPart is a text or a reasoning that is open.
type VercelPart struct {
	ID     string `json:"i"`
	Number int    `json:"n"`
}

// keptParts bounds the content parts that are open at a time.
const keptParts = 64

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	kind := wire.TypeOf(f.JSON)
	var e vercelEvent
	if !strings.HasPrefix(kind, "tool-input-") { // they are many, and surely ours
		e.read(f.JSON)
	}
	switch {
	case strings.HasPrefix(kind, "tool-input-"), strings.HasPrefix(kind, "tool-output-"), strings.HasPrefix(kind, "tool-approval-"),
		kind == "start-step", kind == "finish-step", kind == "reset-step":
		return wire.Surely
	case kind == "tool-call", kind == "tool-result", kind == "tool-error":
		return when(e.call.IsString())
	case strings.HasPrefix(kind, "text-"), strings.HasPrefix(kind, "reasoning-"):
		return when(e.id.IsString())
	case kind == "start":
		return when(e.message.IsString())
	case kind == "finish":
		return when(e.finish.IsString())
	case kind == "error":
		return when(e.failure.IsString() && e.worded)
	case kind == "tool-call-streaming-start", kind == "step-finish":
		return wire.Surely
	case kind == "tool-call-delta":
		return when(e.delta.IsString() && e.call.IsString()) // Cohere's has an object
	case kind == "abort", kind == "file", kind == "step-start", kind == "stream-start", kind == "response-metadata", kind == "custom", kind == "raw", kind == "message-metadata", kind == "steering-message",
		strings.HasPrefix(kind, "data-"), strings.HasPrefix(kind, "source"):
		return wire.Perhaps
	}
	return wire.No
}

// when claims an event surely that has what only this format's have.
func when(has bool) wire.Claim {
	if has {
		return wire.Surely
	}
	return wire.Perhaps
}

// vercelEvent is an event's members, whatever its type.
type vercelEvent struct {
	kind, message, id, call, name, delta, input, output, failure, finish, usage, reason jsonscan.Value
	approval, automatic, encoding, executed, preliminary                                jsonscan.Value
	worded                                                                              bool // the failure is an errorText
}

func (e *vercelEvent) read(v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			e.kind = vercelKind(m.Value)
		case "messageId":
			e.message = m.Value
		case "id":
			e.id = m.Value
		case "toolCallId":
			e.call = m.Value
		case "toolName":
			e.name = m.Value
		case "delta", "inputTextDelta", "text", "argsTextDelta":
			e.delta = m.Value
		case "input", "args":
			e.input = m.Value
		case "output", "result":
			e.output = m.Value
		case "errorText", "error":
			e.failure, e.worded = m.Value, m.Key == "errorText"
		case "finishReason":
			e.finish = m.Value
		case "usage", "totalUsage":
			e.usage = m.Value
		case "reason":
			e.reason = m.Value
		case "approvalId":
			e.approval = m.Value
		case "isAutomatic":
			e.automatic = m.Value
		case "inputEncoding":
			e.encoding = m.Value
		case "providerExecuted":
			e.executed = m.Value
		case "preliminary":
			e.preliminary = m.Value
		}
	}
}

// vercelKind gives the name that version 5 has for the kind of an event.
func vercelKind(v jsonscan.Value) jsonscan.Value {
	switch v.Str {
	case "tool-call-streaming-start":
		v.Str = "tool-input-start"
	case "tool-call-delta":
		v.Str = "tool-input-delta"
	case "step-start":
		v.Str = "start-step"
	case "step-finish":
		v.Str = "finish-step"
	}
	return v
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	if f.Done {
		r.Emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	var e vercelEvent
	e.read(f.JSON)
	mem := r.d
	switch kind := e.kind.Str; {
	case strings.HasPrefix(kind, "tool-"):
		return r.vercelTool(mem, &e)
	case strings.HasPrefix(kind, "text-"):
		return r.vercelContent(mem, &e, chunks.Text, kind[len("text-"):])
	case strings.HasPrefix(kind, "reasoning-"):
		return r.vercelContent(mem, &e, chunks.Reasoning, kind[len("reasoning-"):])
	case kind == "start":
		r.vercelStart(mem, &e)
	case kind == "start-step":
		r.vercelStep(mem)
	case kind == "finish-step":
		r.vercelFinish(mem, &e)
	case kind == "reset-step": // what the step said is void, and it begins again
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: "the step was reset"})
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	case kind == "finish":
		r.vercelEnd(mem, &e)
	case kind == "abort":
		*mem = Decoder{Message: mem.Message}
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: r.Text(e.reason)})
	case kind == "error": // finish-step and finish may follow
		*mem = Decoder{Message: mem.Message}
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: r.FailureText(e.failure)})
	}
	return nil
}

// vercelStart begins a stream. Several that are merged into one begin several
// times: a start of the same message in mid-stream says nothing.
func (r reader) vercelStart(mem *Decoder, e *vercelEvent) {
	id := r.Text(e.message)
	if mem.Open && (id == "" || id == mem.Message) {
		return
	}
	*mem = Decoder{Message: wire.Keep(id), Open: true}
	r.Emit(chunks.Chunk{Kind: chunks.RunStart})
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
}

// vercelStep begins a step; the first of a stream began with it.
func (r reader) vercelStep(mem *Decoder) {
	if mem.Stepped {
		r.Emit(vercelStop(mem, ""))
		r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
	}
	if mem.Stepped || !mem.Open {
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	}
	mem.Open, mem.Stepped, mem.Parts = true, true, nil
}

// vercelFinish tells why the model stopped, where that is said.
func (r reader) vercelFinish(mem *Decoder, e *vercelEvent) {
	if e.finish.IsString() {
		r.Emit(vercelStop(mem, r.Text(e.finish)))
	}
	if e.usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: r.Compact(e.usage.Raw)})
	}
}

// vercelStop is the end of what the model says in a step. A call of which the
// stream has not said that its input is available is not complete then, be the
// reason what it may, unless its args are plainly whole: so all are Truncated.
func vercelStop(mem *Decoder, reason string) chunks.Chunk {
	return chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: reason, Truncated: true}
}

// vercelEnd ends a stream. Its usage is that of all its steps and is nobody's.
func (r reader) vercelEnd(mem *Decoder, e *vercelEvent) {
	r.Emit(vercelStop(mem, r.Text(e.finish)))
	status := "completed"
	switch {
	case e.finish.Str == "error":
		status = "error"
	case mem.Waits:
		status = "interrupted"
	}
	*mem = Decoder{}
	r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status})
}

// vercelContent reads text-start, -delta and -end, and those of reasoning.
func (r reader) vercelContent(mem *Decoder, e *vercelEvent, kind chunks.Kind, what string) *wire.Problem {
	if !e.id.IsString() {
		return wire.WrongType("id", e.id, "a string")
	}
	switch id := r.Text(e.id); what {
	case "start":
		mem.open(id)
	case "delta":
		if !e.delta.IsString() {
			return wire.WrongType("delta", e.delta, "a string")
		}
		if s := r.Text(e.delta); s != "" {
			r.Emit(chunks.Chunk{Kind: kind, Message: mem.Message, Part: mem.part(id), Text: s})
		}
	case "end":
		if n := mem.end(id); n > 0 {
			r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: n})
		}
	}
	return nil
}

// open begins a part of content and numbers it; ids repeat from step to step.
func (m *Decoder) open(id string) int {
	if len(m.Parts) >= keptParts {
		m.Parts = m.Parts[1:]
	}
	m.Part++
	m.Parts = append(m.Parts, VercelPart{ID: wire.Keep(id), Number: m.Part})
	return m.Part
}

// part gives the number of the part with an id, which begins where it is not
// open.
func (m *Decoder) part(id string) int {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if m.Parts[i].ID == id[:min(len(id), wire.MaxID)] {
			return m.Parts[i].Number
		}
	}
	return m.open(id)
}

// end closes the part with an id and gives its number, 0 where none is open.
func (m *Decoder) end(id string) int {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if p := m.Parts[i]; p.ID == id[:min(len(id), wire.MaxID)] {
			m.Parts = append(m.Parts[:i:i], m.Parts[i+1:]...)
			return p.Number
		}
	}
	return 0
}

// vercelTool reads what is said of a call.
func (r reader) vercelTool(mem *Decoder, e *vercelEvent) *wire.Problem {
	kind := e.kind.Str
	if kind == "tool-approval-response" { // names the approval, not the call
		mem.Waits = false
		return nil
	}
	if !e.call.Present() && strings.HasPrefix(kind, "tool-input-") {
		e.call = e.id // so the parts of the fullStream name it
	}
	if !e.call.IsString() {
		return wire.WrongType("toolCallId", e.call, "a string")
	}
	id := r.Text(e.call)
	switch kind {
	case "tool-input-start":
		if e.encoding.Str == "text" {
			mem.Plain = wire.Keep(id)
		}
		r.Emit(r.vercelFragment(mem, e, id))
	case "tool-input-delta":
		if !e.delta.IsString() {
			return wire.WrongType("inputTextDelta", e.delta, "a string")
		}
		if s := r.Text(e.delta); s != "" {
			r.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: mem.Message, ID: id, Args: s, Opens: true})
		}
	case "tool-input-end":
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, ID: id})
	case "tool-input-available", "tool-call":
		r.vercelCall(mem, e, id)
	case "tool-input-error":
		r.vercelCall(mem, e, id)
		if e.executed.Kind != jsonscan.True { // the provider runs it all the same
			r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error", Text: r.FailureText(e.failure)})
		}
	case "tool-approval-request":
		if e.automatic.Kind != jsonscan.True {
			mem.Waits = true
			r.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval", InterruptID: r.Text(e.approval)})
		}
	case "tool-output-available", "tool-result":
		r.vercelOutput(e, id)
	case "tool-output-error", "tool-error":
		r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error", Text: r.FailureText(e.failure)})
	case "tool-output-denied":
		mem.Waits = false
		r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "denied", Text: "The tool call was denied."})
	}
	return nil
}

// vercelFragment is a fragment of a call without its args.
func (r reader) vercelFragment(mem *Decoder, e *vercelEvent, id string) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Fragment, Message: mem.Message, ID: id, Name: r.Text(e.name), Final: true}
	switch {
	case e.executed.Kind == jsonscan.True:
		c.CallKind, c.Provider = "server", true
	case mem.plain(id):
		c.CallKind = "custom"
	}
	return c
}

// plain tells whether the input of a call is free text.
func (m *Decoder) plain(id string) bool {
	return m.Plain != "" && m.Plain == id[:min(len(id), wire.MaxID)]
}

// vercelCall emits a whole call. Where its args came as text before, that text
// is what the model said, and stands; the input is what a parser made of it.
func (r reader) vercelCall(mem *Decoder, e *vercelEvent, id string) {
	c := r.vercelFragment(mem, e, id)
	c.Whole = true
	switch {
	case !e.input.Present():
	case !e.input.IsString():
		c.Args, c.Object = r.Compact(e.input.Raw), e.input.IsObject()
	case c.CallKind == "custom", e.kind.Str != "tool-input-available":
		c.Args = r.Text(e.input) // free text, or text that is, or should be, JSON
	default:
		c.Args = e.input.Raw // a JSON value that is a string
	}
	r.Emit(c)
}

// vercelOutput emits a result; a preliminary one is only a sign of life.
func (r reader) vercelOutput(e *vercelEvent, id string) {
	text, content := "", ""
	if e.output.IsString() {
		text = r.Text(e.output)
	} else if e.output.Present() {
		content = r.Compact(e.output.Raw)
	}
	if e.preliminary.Kind == jsonscan.True {
		r.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: excerpt(text + content)})
		return
	}
	r.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Text: text, Content: content})
}

const progressText = 1 << 10

// excerpt cuts a text that only shows how far something is, and says so.
func excerpt(s string) string {
	if len(s) <= progressText {
		return s
	}
	cut := progressText
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
