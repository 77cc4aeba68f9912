package decode

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Amazon Bedrock's ConverseStream:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
//
// The frames of its event stream, each as an object with the event's name for
// its key, as the SDKs give them, or in {"event":{…}}, as Strands does:
//
//	messageStart{role} → contentBlockStart{contentBlockIndex,start:{toolUse:{toolUseId,name,type?}}}
//	→ contentBlockDelta{contentBlockIndex,delta:{toolUse:{input}}} … → contentBlockStop{contentBlockIndex}
//	→ messageStop{stopReason} → metadata{usage}; an …Exception{message} anywhere
//
// Text blocks have no start, no message has an id. A tool the provider runs
// has its result in a block of its own. What InvokeModelWithResponseStream
// sends is in bedrock_bytes.go.

// BedrockMemory is what the bedrock format remembers between events.
type BedrockMemory struct {
	Block string    `json:"b,omitzero"` // raw index of the block that is open
	Kind  blockKind `json:"k,omitzero"` // of that block
	// Answer is the result that the open block brings.
	Answer BedrockAnswer `json:"r,omitzero"`
}

// BedrockAnswer is a tool result that is on its way.
type BedrockAnswer struct {
	ID     string `json:"i,omitzero"`
	Status string `json:"s,omitzero"`
	Blocks []byte `json:"c,omitzero"` // its content so far, JSON objects with commas between
}

// keptAnswer bounds a result that comes in pieces.
const keptAnswer = 1 << 20

func claimsBedrock(f Frame) claim {
	if f.Done {
		return no
	}
	switch kind, payload := bedrockEvent(f); {
	case kind == "":
	case kind == "metadata":
		if member(member(payload, "usage"), "inputTokens").Raw != "" {
			return surely
		}
		return perhaps
	case isObject(payload):
		return surely
	default:
		return perhaps
	}
	return claimsBedrockMessage(f.JSON)
}

// claimsBedrockMessage knows the answer of Converse, and a user's message with
// results.
func claimsBedrockMessage(v gjson.Result) claim {
	var output, stop, role, content gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "output":
			output = m.value
		case "stopReason":
			stop = m.value
		case "role":
			role = m.value
		case "content":
			content = m.value
		}
	}
	if isString(stop) && isObject(member(output, "message")) {
		return surely
	}
	if role.Str == "user" {
		for e := elements(content); e.next(); {
			if isObject(member(e.value, "toolResult")) {
				return surely
			}
		}
	}
	return no
}

// bedrockEvent gives an event's name and what it carries; the name is "" where
// it is none of Bedrock's.
func bedrockEvent(f Frame) (kind string, payload gjson.Result) {
	if bedrockKind(f.Name) {
		return f.Name, f.JSON
	}
	alone := true
	for m := members(f.JSON); m.next(); {
		switch {
		case m.key == "event" && isObject(m.value):
			if inner := members(m.value); inner.next() && bedrockKind(inner.key) {
				return inner.key, inner.value
			}
			return "", gjson.Result{}
		case m.key == "metadata":
			kind, payload = m.key, m.value
		case bedrockKind(m.key):
			return m.key, m.value
		case m.key != "p": // padding
			alone = false
		}
	}
	if !alone { // metadata is a word that many use
		return "", gjson.Result{}
	}
	return kind, payload
}

func bedrockKind(name string) bool {
	switch name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
		return true
	}
	return bedrockException(name)
}

// bedrockException knows the exceptions that come as frames of a stream.
func bedrockException(name string) bool {
	switch name {
	case "internalServerException", "modelStreamErrorException", "modelTimeoutException",
		"serviceUnavailableException", "throttlingException", "validationException":
		return true
	}
	return false
}

func decodeBedrock(r *Reader, f Frame) *Problem {
	kind, e := bedrockEvent(f)
	if kind == "" {
		return r.bedrockWhole(f.JSON)
	}
	if !isObject(e) {
		return wrongType(kind, e, "an object")
	}
	mem := partOf(&r.mem.Bedrock)
	switch kind {
	case "messageStart":
		*mem = BedrockMemory{}
		r.emit(chunks.Chunk{Kind: chunks.Start, Role: r.text(member(e, "role")), Fresh: true})
	case "contentBlockStart":
		return r.bedrockStart(mem, e)
	case "contentBlockDelta":
		return r.bedrockDelta(mem, e)
	case "contentBlockStop":
		r.bedrockStop(mem, member(e, "contentBlockIndex"))
	case "messageStop":
		r.bedrockAnswered(mem)
		*mem = BedrockMemory{}
		r.bedrockFinish(member(e, "stopReason"))
	case "metadata":
		if usage := member(e, "usage"); isObject(usage) {
			r.emit(chunks.Chunk{Kind: chunks.Usage, Usage: r.compact(usage.Raw)})
		}
		r.emit(chunks.Chunk{Kind: chunks.Ended})
	default:
		*mem = BedrockMemory{}
		r.emit(chunks.Chunk{Kind: chunks.Failure, Text: r.bedrockFailure(kind, e)})
	}
	return nil
}

// bedrockFailure puts an exception in words: {"message","originalMessage"?}.
func (r *Reader) bedrockFailure(kind string, e gjson.Result) string {
	if s := r.text(member(e, "message")); s != "" {
		return s
	}
	if s := r.text(member(e, "originalMessage")); s != "" {
		return s
	}
	return kind
}

func (r *Reader) bedrockFinish(stop gjson.Result) {
	reason := r.text(stop)
	r.emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: bedrockTruncates(reason)})
}

func bedrockTruncates(reason string) bool {
	switch reason {
	case "max_tokens", "model_context_window_exceeded", "content_filtered", "guardrail_intervened":
		return true
	}
	return false
}

// bedrockStart begins a block: {"contentBlockIndex","start":{"toolUse"|"toolResult"}}.
func (r *Reader) bedrockStart(mem *BedrockMemory, e gjson.Result) *Problem {
	index, start := member(e, "contentBlockIndex"), member(e, "start")
	if !isObject(start) {
		return wrongType("contentBlockStart.start", start, "an object")
	}
	r.bedrockAnswered(mem)
	*mem = BedrockMemory{Block: keep(index.Raw, keptID), Kind: otherBlock}
	for m := members(start); m.next(); {
		if m.key != "toolUse" && m.key != "toolResult" {
			continue
		}
		if !isObject(m.value) {
			return wrongType("contentBlockStart.start."+m.key, m.value, "an object")
		}
		if m.key == "toolUse" {
			mem.Kind = callBlock
			r.bedrockCall(chunks.Chunk{Index: index.Raw}, m.value)
			continue
		}
		return r.bedrockResultStart(mem, m.value)
	}
	return nil
}

// bedrockCall emits the beginning of a call, or, of a full message (of.Whole),
// a call: {"toolUseId","name","type"?,"input"?}.
func (r *Reader) bedrockCall(of chunks.Chunk, v gjson.Result) {
	of.Kind, of.Final = chunks.Fragment, true
	for m := members(v); m.next(); {
		switch m.key {
		case "toolUseId":
			of.ID = r.text(m.value)
		case "name":
			of.Name = r.text(m.value)
		case "type":
			if m.value.Str == "server_tool_use" {
				of.CallKind, of.Provider = "server", true
			}
		case "input":
			r.bedrockInput(&of, m.value)
		}
	}
	r.emit(of)
}

// bedrockInput reads args: text, or, where a layer has parsed it, an object.
func (r *Reader) bedrockInput(c *chunks.Chunk, input gjson.Result) {
	if c.Object = isObject(input); c.Object {
		c.Args = r.compact(input.Raw)
	} else {
		c.Args = r.text(input)
	}
}

func (r *Reader) bedrockDelta(mem *BedrockMemory, e gjson.Result) *Problem {
	var index, delta gjson.Result
	for m := members(e); m.next(); {
		switch m.key {
		case "contentBlockIndex":
			index = m.value
		case "delta":
			delta = m.value
		}
	}
	if !isObject(delta) {
		return wrongType("contentBlockDelta.delta", delta, "an object")
	}
	for m := members(delta); m.next(); {
		switch m.key {
		case "text":
			r.bedrockText(mem, chunks.Text, index, m.value)
		case "reasoningContent":
			r.bedrockText(mem, chunks.Reasoning, index, member(m.value, "text"))
		case "toolUse":
			c := chunks.Chunk{Kind: chunks.Fragment, Index: index.Raw}
			if !isObject(m.value) {
				return wrongType("contentBlockDelta.delta.toolUse", m.value, "an object")
			}
			if r.bedrockInput(&c, member(m.value, "input")); c.Args != "" {
				r.emit(c)
			}
		case "toolResult":
			return r.bedrockAnswer(mem, index, m.value)
		}
	}
	return nil
}

// bedrockText emits content. Its block has no start of its own.
func (r *Reader) bedrockText(mem *BedrockMemory, kind chunks.Kind, index, text gjson.Result) {
	if mem.Block != index.Raw || mem.Kind != partBlock {
		r.bedrockAnswered(mem)
		*mem = BedrockMemory{Block: keep(index.Raw, keptID), Kind: partBlock}
	}
	if s := r.text(text); s != "" {
		r.emit(chunks.Chunk{Kind: kind, Part: integer(index), Text: s})
	}
}

// bedrockStop ends a block. Of one whose beginning was not seen it is not
// known what it was; a Seal that names no call says nothing.
func (r *Reader) bedrockStop(mem *BedrockMemory, index gjson.Result) {
	kind := callBlock
	if mem.Block == index.Raw && mem.Kind != noBlock {
		kind = mem.Kind
		r.bedrockAnswered(mem)
		*mem = BedrockMemory{}
	}
	switch kind {
	case callBlock:
		r.emit(chunks.Chunk{Kind: chunks.Seal, Index: index.Raw})
	case partBlock:
		r.emit(chunks.Chunk{Kind: chunks.PartEnd, Part: integer(index)})
	}
}

// bedrockResultStart begins the result of a tool the provider runs:
// {"toolUseId","status"?,"type"?}.
func (r *Reader) bedrockResultStart(mem *BedrockMemory, v gjson.Result) *Problem {
	w := body{r: r}
	mem.Answer.ID = keep(w.text("toolUseId", member(v, "toolUseId")), keptID)
	if status := w.text("status", member(v, "status")); status != "" {
		mem.Answer.Status = w.oneOf("status", status, "success", "error")
	}
	if w.problem == nil && mem.Answer.ID == "" {
		w.fail(&Problem{Code: BadShape, Text: "the result names no call: toolUseId is missing or empty"})
	}
	if w.problem != nil {
		mem.Answer = BedrockAnswer{}
	}
	return w.problem
}

// bedrockAnswer keeps a piece of that result: a list of content blocks.
func (r *Reader) bedrockAnswer(mem *BedrockMemory, index, list gjson.Result) *Problem {
	if !isArray(list) {
		return wrongType("contentBlockDelta.delta.toolResult", list, "a list of blocks")
	}
	a := &mem.Answer
	if a.ID == "" || mem.Block != index.Raw {
		return &Problem{Code: BadShape, Text: "a piece of a tool result comes without the start of its block, which names its call"}
	}
	for e := elements(list); e.next(); {
		if len(a.Blocks)+len(e.value.Raw) > keptAnswer {
			id := a.ID
			r.bedrockAnswered(mem)
			return &Problem{Code: OverLimit, Text: fmt.Sprintf("the result of %q is longer than %d bytes: the rest of it is dropped", clip(id), keptAnswer)}
		}
		if len(a.Blocks) > 0 {
			a.Blocks = append(a.Blocks, ',')
		}
		a.Blocks = append(a.Blocks, e.value.Raw...)
	}
	return nil
}

// bedrockAnswered emits the result that came in pieces, if there is one: as
// one text where it has nothing else.
func (r *Reader) bedrockAnswered(mem *BedrockMemory) {
	a := mem.Answer
	mem.Answer = BedrockAnswer{}
	if a.ID == "" {
		return
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: a.ID, Status: a.Status}
	blocks := "[" + string(a.Blocks) + "]"
	var text strings.Builder
	for e := elements(valueOf(blocks)); e.next(); {
		t := member(e.value, "text")
		if !isString(t) {
			c.Content = r.compact(blocks)
			break
		}
		text.WriteString(r.text(t))
	}
	if c.Content == "" {
		c.Text = text.String()
	}
	r.emit(c)
}

// bedrockWhole reads a message that was not streamed: the answer of Converse,
// {"output":{"message":{"role","content"}},"stopReason","usage"}, or a user's
// message, which carries the results of client tools.
func (r *Reader) bedrockWhole(v gjson.Result) (first *Problem) {
	message := member(member(v, "output"), "message")
	answer := isObject(message)
	if !answer {
		message = v
	}
	content := member(message, "content")
	if !isArray(content) {
		return wrongType("content", content, "a list of blocks")
	}
	if answer {
		r.mem.Bedrock = nil
		r.emit(chunks.Chunk{Kind: chunks.Start, Role: r.text(member(message, "role")), Fresh: true})
	}
	i := 0
	for e := elements(content); e.next(); i++ {
		if p := r.bedrockBlock(chunks.Chunk{Part: i, Whole: true}, e.value, answer); p != nil && first == nil {
			first = p
		}
	}
	if answer {
		r.bedrockFinish(member(v, "stopReason"))
		if usage := member(v, "usage"); isObject(usage) {
			r.emit(chunks.Chunk{Kind: chunks.Usage, Usage: r.compact(usage.Raw)})
		}
		r.emit(chunks.Chunk{Kind: chunks.Ended})
	}
	return first
}

// bedrockBlock emits a block of a full message; of a user's, only results.
func (r *Reader) bedrockBlock(of chunks.Chunk, block gjson.Result, answer bool) *Problem {
	for m := members(block); m.next(); {
		switch {
		case m.key == "toolResult":
			return r.toolResult(resultFields(m.value))
		case !answer:
		case m.key == "toolUse":
			of.Part = 0
			r.bedrockCall(of, m.value)
		case m.key == "text", m.key == "reasoningContent":
			c := chunks.Chunk{Kind: chunks.Text, Part: of.Part, Text: r.text(m.value)}
			if m.key == "reasoningContent" {
				c.Kind, c.Text = chunks.Reasoning, r.text(member(member(m.value, "reasoningText"), "text"))
			}
			if c.Text != "" {
				r.emit(c)
			}
		}
	}
	return nil
}
