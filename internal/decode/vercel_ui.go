package decode

import (
	"strings"
	"unicode/utf8"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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

// VercelMemory is what the vercel-ui format remembers between events.
type VercelMemory struct {
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

func claimsVercel(f Frame) claim {
	if f.Done {
		return perhaps
	}
	kind := kindOf(f.JSON)
	var e vercelEvent
	if !strings.HasPrefix(kind, "tool-input-") { // they are many, and surely ours
		e.read(f.JSON)
	}
	switch {
	case strings.HasPrefix(kind, "tool-input-"), strings.HasPrefix(kind, "tool-output-"), strings.HasPrefix(kind, "tool-approval-"),
		kind == "start-step", kind == "finish-step", kind == "reset-step":
		return surely
	case kind == "tool-call", kind == "tool-result", kind == "tool-error":
		return when(isString(e.call))
	case strings.HasPrefix(kind, "text-"), strings.HasPrefix(kind, "reasoning-"):
		return when(isString(e.id))
	case kind == "start":
		return when(isString(e.message))
	case kind == "finish":
		return when(isString(e.finish))
	case kind == "error":
		return when(isString(e.failure) && e.worded)
	case kind == "tool-call-streaming-start", kind == "step-finish":
		return surely
	case kind == "tool-call-delta":
		return when(isString(e.delta) && isString(e.call)) // Cohere's has an object
	case kind == "abort", kind == "file", kind == "step-start", kind == "stream-start", kind == "response-metadata", kind == "custom", kind == "raw", kind == "message-metadata", kind == "steering-message",
		strings.HasPrefix(kind, "data-"), strings.HasPrefix(kind, "source"):
		return perhaps
	}
	return no
}

// kindOf gives an event's first member type, without looking further.
func kindOf(v gjson.Result) string {
	for m := members(v); m.next(); {
		if m.key == "type" {
			return m.value.Str
		}
	}
	return ""
}

// when claims an event surely that has what only this format's have.
func when(has bool) claim {
	if has {
		return surely
	}
	return perhaps
}

// vercelEvent is an event's members, whatever its type.
type vercelEvent struct {
	kind, message, id, call, name, delta, input, output, failure, finish, usage, reason gjson.Result
	approval, automatic, encoding, executed, preliminary                                gjson.Result
	worded                                                                              bool // the failure is an errorText
}

func (e *vercelEvent) read(v gjson.Result) {
	for m := members(v); m.next(); {
		switch m.key {
		case "type":
			e.kind = vercelKind(m.value)
		case "messageId":
			e.message = m.value
		case "id":
			e.id = m.value
		case "toolCallId":
			e.call = m.value
		case "toolName":
			e.name = m.value
		case "delta", "inputTextDelta", "text", "argsTextDelta":
			e.delta = m.value
		case "input", "args":
			e.input = m.value
		case "output", "result":
			e.output = m.value
		case "errorText", "error":
			e.failure, e.worded = m.value, m.key == "errorText"
		case "finishReason":
			e.finish = m.value
		case "usage", "totalUsage":
			e.usage = m.value
		case "reason":
			e.reason = m.value
		case "approvalId":
			e.approval = m.value
		case "isAutomatic":
			e.automatic = m.value
		case "inputEncoding":
			e.encoding = m.value
		case "providerExecuted":
			e.executed = m.value
		case "preliminary":
			e.preliminary = m.value
		}
	}
}

// vercelKind gives the name that version 5 has for the kind of an event.
func vercelKind(v gjson.Result) gjson.Result {
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

func decodeVercel(r *Reader, f Frame) *Problem {
	if f.Done {
		r.emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	var e vercelEvent
	e.read(f.JSON)
	mem := partOf(&r.mem.Vercel)
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
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: "the step was reset"})
		r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	case kind == "finish":
		r.vercelEnd(mem, &e)
	case kind == "abort":
		*mem = VercelMemory{Message: mem.Message}
		r.emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: r.text(e.reason)})
	case kind == "error": // finish-step and finish may follow
		*mem = VercelMemory{Message: mem.Message}
		r.emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: r.failureText(e.failure)})
	}
	return nil
}

// vercelStart begins a stream. Several that are merged into one begin several
// times: a start of the same message in mid-stream says nothing.
func (r *Reader) vercelStart(mem *VercelMemory, e *vercelEvent) {
	id := r.text(e.message)
	if mem.Open && (id == "" || id == mem.Message) {
		return
	}
	*mem = VercelMemory{Message: keep(id, keptID), Open: true}
	r.emit(chunks.Chunk{Kind: chunks.RunStart})
	r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
}

// vercelStep begins a step; the first of a stream began with it.
func (r *Reader) vercelStep(mem *VercelMemory) {
	if mem.Stepped {
		r.emit(vercelStop(mem, ""))
		r.emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
	}
	if mem.Stepped || !mem.Open {
		r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	}
	mem.Open, mem.Stepped, mem.Parts = true, true, nil
}

// vercelFinish tells why the model stopped, where that is said.
func (r *Reader) vercelFinish(mem *VercelMemory, e *vercelEvent) {
	if isString(e.finish) {
		r.emit(vercelStop(mem, r.text(e.finish)))
	}
	if isObject(e.usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: r.compact(e.usage.Raw)})
	}
}

// vercelStop is the end of what the model says in a step. A call of which the
// stream has not said that its input is available is not complete then, be the
// reason what it may, unless its args are plainly whole: so all are Truncated.
func vercelStop(mem *VercelMemory, reason string) chunks.Chunk {
	return chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: reason, Truncated: true}
}

// vercelEnd ends a stream. Its usage is that of all its steps and is nobody's.
func (r *Reader) vercelEnd(mem *VercelMemory, e *vercelEvent) {
	r.emit(vercelStop(mem, r.text(e.finish)))
	status := "completed"
	switch {
	case e.finish.Str == "error":
		status = "error"
	case mem.Waits:
		status = "interrupted"
	}
	*mem = VercelMemory{}
	r.emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status})
}

// vercelContent reads text-start, -delta and -end, and those of reasoning.
func (r *Reader) vercelContent(mem *VercelMemory, e *vercelEvent, kind chunks.Kind, what string) *Problem {
	if !isString(e.id) {
		return wrongType("id", e.id, "a string")
	}
	switch id := r.text(e.id); what {
	case "start":
		mem.open(id)
	case "delta":
		if !isString(e.delta) {
			return wrongType("delta", e.delta, "a string")
		}
		if s := r.text(e.delta); s != "" {
			r.emit(chunks.Chunk{Kind: kind, Message: mem.Message, Part: mem.part(id), Text: s})
		}
	case "end":
		if n := mem.end(id); n > 0 {
			r.emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: n})
		}
	}
	return nil
}

// open begins a part of content and numbers it; ids repeat from step to step.
func (m *VercelMemory) open(id string) int {
	if len(m.Parts) >= keptParts {
		m.Parts = m.Parts[1:]
	}
	m.Part++
	m.Parts = append(m.Parts, VercelPart{ID: keep(id, keptID), Number: m.Part})
	return m.Part
}

// part gives the number of the part with an id, which begins where it is not
// open.
func (m *VercelMemory) part(id string) int {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if m.Parts[i].ID == id[:min(len(id), keptID)] {
			return m.Parts[i].Number
		}
	}
	return m.open(id)
}

// end closes the part with an id and gives its number, 0 where none is open.
func (m *VercelMemory) end(id string) int {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if p := m.Parts[i]; p.ID == id[:min(len(id), keptID)] {
			m.Parts = append(m.Parts[:i:i], m.Parts[i+1:]...)
			return p.Number
		}
	}
	return 0
}

// vercelTool reads what is said of a call.
func (r *Reader) vercelTool(mem *VercelMemory, e *vercelEvent) *Problem {
	kind := e.kind.Str
	if kind == "tool-approval-response" { // names the approval, not the call
		mem.Waits = false
		return nil
	}
	if !present(e.call) && strings.HasPrefix(kind, "tool-input-") {
		e.call = e.id // so the parts of the fullStream name it
	}
	if !isString(e.call) {
		return wrongType("toolCallId", e.call, "a string")
	}
	id := r.text(e.call)
	switch kind {
	case "tool-input-start":
		if e.encoding.Str == "text" {
			mem.Plain = keep(id, keptID)
		}
		r.emit(r.vercelFragment(mem, e, id))
	case "tool-input-delta":
		if !isString(e.delta) {
			return wrongType("inputTextDelta", e.delta, "a string")
		}
		if s := r.text(e.delta); s != "" {
			r.emit(chunks.Chunk{Kind: chunks.Fragment, Message: mem.Message, ID: id, Args: s, Opens: true})
		}
	case "tool-input-end":
		r.emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, ID: id})
	case "tool-input-available", "tool-call":
		r.vercelCall(mem, e, id)
	case "tool-input-error":
		r.vercelCall(mem, e, id)
		if e.executed.Type != gjson.True { // the provider runs it all the same
			r.emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error", Text: r.failureText(e.failure)})
		}
	case "tool-approval-request":
		if e.automatic.Type != gjson.True {
			mem.Waits = true
			r.emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "approval", InterruptID: r.text(e.approval)})
		}
	case "tool-output-available", "tool-result":
		r.vercelOutput(e, id)
	case "tool-output-error", "tool-error":
		r.emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error", Text: r.failureText(e.failure)})
	case "tool-output-denied":
		mem.Waits = false
		r.emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "denied", Text: "The tool call was denied."})
	}
	return nil
}

// vercelFragment is a fragment of a call without its args.
func (r *Reader) vercelFragment(mem *VercelMemory, e *vercelEvent, id string) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Fragment, Message: mem.Message, ID: id, Name: r.text(e.name), Final: true}
	switch {
	case e.executed.Type == gjson.True:
		c.CallKind, c.Provider = "server", true
	case mem.plain(id):
		c.CallKind = "custom"
	}
	return c
}

// plain tells whether the input of a call is free text.
func (m *VercelMemory) plain(id string) bool {
	return m.Plain != "" && m.Plain == id[:min(len(id), keptID)]
}

// vercelCall emits a whole call. Where its args came as text before, that text
// is what the model said, and stands; the input is what a parser made of it.
func (r *Reader) vercelCall(mem *VercelMemory, e *vercelEvent, id string) {
	c := r.vercelFragment(mem, e, id)
	c.Whole = true
	switch {
	case !present(e.input):
	case !isString(e.input):
		c.Args, c.Object = r.compact(e.input.Raw), isObject(e.input)
	case c.CallKind == "custom", e.kind.Str != "tool-input-available":
		c.Args = r.text(e.input) // free text, or text that is, or should be, JSON
	default:
		c.Args = e.input.Raw // a JSON value that is a string
	}
	r.emit(c)
}

// vercelOutput emits a result; a preliminary one is only a sign of life.
func (r *Reader) vercelOutput(e *vercelEvent, id string) {
	text, content := "", ""
	if e.output.Type == gjson.String {
		text = r.text(e.output)
	} else if present(e.output) {
		content = r.compact(e.output.Raw)
	}
	if e.preliminary.Type == gjson.True {
		r.emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: excerpt(text + content)})
		return
	}
	r.emit(chunks.Chunk{Kind: chunks.Result, ID: id, Text: text, Content: content})
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
