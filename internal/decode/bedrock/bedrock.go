package bedrock

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
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

// Decoder is what the bedrock format remembers between events.
type Decoder struct {
	Block string         `json:"b,omitzero"` // raw index of the block that is open
	Kind  wire.BlockKind `json:"k,omitzero"` // of that block
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

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.No
	}
	switch kind, payload := bedrockEvent(f); {
	case kind == "":
	case kind == "metadata":
		if payload.Member("usage").Member("inputTokens").Raw != "" {
			return wire.Surely
		}
		return wire.Perhaps
	case payload.IsObject():
		return wire.Surely
	default:
		return wire.Perhaps
	}
	return claimsBedrockMessage(f.JSON)
}

// claimsBedrockMessage knows the answer of Converse, and a user's message with
// results.
func claimsBedrockMessage(v jsonscan.Value) wire.Claim {
	var output, stop, role, content jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "output":
			output = m.Value
		case "stopReason":
			stop = m.Value
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		}
	}
	if stop.IsString() && output.Member("message").IsObject() {
		return wire.Surely
	}
	if role.Str == "user" {
		for e := content.Elements(); e.Next(); {
			if e.Value.Member("toolResult").IsObject() {
				return wire.Surely
			}
		}
	}
	return wire.No
}

// bedrockEvent gives an event's name and what it carries; the name is "" where
// it is none of Bedrock's.
func bedrockEvent(f wire.Frame) (kind string, payload jsonscan.Value) {
	if bedrockKind(f.Name) {
		return f.Name, f.JSON
	}
	alone := true
	for m := f.JSON.Members(); m.Next(); {
		switch {
		case m.Key == "event" && m.Value.IsObject():
			if inner := m.Value.Members(); inner.Next() && bedrockKind(inner.Key) {
				return inner.Key, inner.Value
			}
			return "", jsonscan.Value{}
		case m.Key == "metadata":
			kind, payload = m.Key, m.Value
		case bedrockKind(m.Key):
			return m.Key, m.Value
		case m.Key != "p": // padding
			alone = false
		}
	}
	if !alone { // metadata is a word that many use
		return "", jsonscan.Value{}
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

func (r reader) decode(f wire.Frame) *wire.Problem {
	kind, e := bedrockEvent(f)
	if kind == "" {
		return r.bedrockWhole(f.JSON)
	}
	if !e.IsObject() {
		return wire.WrongType(kind, e, "an object")
	}
	mem := r.d
	switch kind {
	case "messageStart":
		*mem = Decoder{}
		r.Emit(chunks.Chunk{Kind: chunks.Start, Role: r.Text(e.Member("role")), Fresh: true})
	case "contentBlockStart":
		return r.bedrockStart(mem, e)
	case "contentBlockDelta":
		return r.bedrockDelta(mem, e)
	case "contentBlockStop":
		r.bedrockStop(mem, e.Member("contentBlockIndex"))
	case "messageStop":
		r.bedrockAnswered(mem)
		*mem = Decoder{}
		r.bedrockFinish(e.Member("stopReason"))
	case "metadata":
		if usage := e.Member("usage"); usage.IsObject() {
			r.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: r.Compact(usage.Raw)})
		}
		r.Emit(chunks.Chunk{Kind: chunks.Ended})
	default:
		*mem = Decoder{}
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Text: r.bedrockFailure(kind, e)})
	}
	return nil
}

// bedrockFailure puts an exception in words: {"message","originalMessage"?}.
func (r reader) bedrockFailure(kind string, e jsonscan.Value) string {
	if s := r.Text(e.Member("message")); s != "" {
		return s
	}
	if s := r.Text(e.Member("originalMessage")); s != "" {
		return s
	}
	return kind
}

func (r reader) bedrockFinish(stop jsonscan.Value) {
	reason := r.Text(stop)
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: bedrockTruncates(reason)})
}

func bedrockTruncates(reason string) bool {
	switch reason {
	case "max_tokens", "model_context_window_exceeded", "content_filtered", "guardrail_intervened":
		return true
	}
	return false
}

// bedrockStart begins a block: {"contentBlockIndex","start":{"toolUse"|"toolResult"}}.
func (r reader) bedrockStart(mem *Decoder, e jsonscan.Value) *wire.Problem {
	index, start := e.Member("contentBlockIndex"), e.Member("start")
	if !start.IsObject() {
		return wire.WrongType("contentBlockStart.start", start, "an object")
	}
	r.bedrockAnswered(mem)
	*mem = Decoder{Block: wire.Keep(index.Raw), Kind: wire.OtherBlock}
	for m := start.Members(); m.Next(); {
		if m.Key != "toolUse" && m.Key != "toolResult" {
			continue
		}
		if !m.Value.IsObject() {
			return wire.WrongType("contentBlockStart.start."+m.Key, m.Value, "an object")
		}
		if m.Key == "toolUse" {
			mem.Kind = wire.CallBlock
			r.bedrockCall(chunks.Chunk{Index: index.Raw}, m.Value)
			continue
		}
		return r.bedrockResultStart(mem, m.Value)
	}
	return nil
}

// bedrockCall emits the beginning of a call, or, of a full message (of.Whole),
// a call: {"toolUseId","name","type"?,"input"?}.
func (r reader) bedrockCall(of chunks.Chunk, v jsonscan.Value) {
	of.Kind, of.Final = chunks.Fragment, true
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "toolUseId":
			of.ID = r.Text(m.Value)
		case "name":
			of.Name = r.Text(m.Value)
		case "type":
			if m.Value.Str == "server_tool_use" {
				of.CallKind, of.Provider = "server", true
			}
		case "input":
			r.bedrockInput(&of, m.Value)
		}
	}
	r.Emit(of)
}

// bedrockInput reads args: text, or, where a layer has parsed it, an object.
func (r reader) bedrockInput(c *chunks.Chunk, input jsonscan.Value) {
	if c.Object = input.IsObject(); c.Object {
		c.Args = r.Compact(input.Raw)
	} else {
		c.Args = r.Text(input)
	}
}

func (r reader) bedrockDelta(mem *Decoder, e jsonscan.Value) *wire.Problem {
	var index, delta jsonscan.Value
	for m := e.Members(); m.Next(); {
		switch m.Key {
		case "contentBlockIndex":
			index = m.Value
		case "delta":
			delta = m.Value
		}
	}
	if !delta.IsObject() {
		return wire.WrongType("contentBlockDelta.delta", delta, "an object")
	}
	for m := delta.Members(); m.Next(); {
		switch m.Key {
		case "text":
			r.bedrockText(mem, chunks.Text, index, m.Value)
		case "reasoningContent":
			r.bedrockText(mem, chunks.Reasoning, index, m.Value.Member("text"))
		case "toolUse":
			c := chunks.Chunk{Kind: chunks.Fragment, Index: index.Raw}
			if !m.Value.IsObject() {
				return wire.WrongType("contentBlockDelta.delta.toolUse", m.Value, "an object")
			}
			if r.bedrockInput(&c, m.Value.Member("input")); c.Args != "" {
				r.Emit(c)
			}
		case "toolResult":
			return r.bedrockAnswer(mem, index, m.Value)
		}
	}
	return nil
}

// bedrockText emits content. Its block has no start of its own.
func (r reader) bedrockText(mem *Decoder, kind chunks.Kind, index, text jsonscan.Value) {
	if mem.Block != index.Raw || mem.Kind != wire.PartBlock {
		r.bedrockAnswered(mem)
		*mem = Decoder{Block: wire.Keep(index.Raw), Kind: wire.PartBlock}
	}
	if s := r.Text(text); s != "" {
		r.Emit(chunks.Chunk{Kind: kind, Part: index.Int(), Text: s})
	}
}

// bedrockStop ends a block. Of one whose beginning was not seen it is not
// known what it was; a Seal that names no call says nothing.
func (r reader) bedrockStop(mem *Decoder, index jsonscan.Value) {
	kind := wire.CallBlock
	if mem.Block == index.Raw && mem.Kind != wire.NoBlock {
		kind = mem.Kind
		r.bedrockAnswered(mem)
		*mem = Decoder{}
	}
	switch kind {
	case wire.CallBlock:
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Index: index.Raw})
	case wire.PartBlock:
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: index.Int()})
	}
}

// bedrockResultStart begins the result of a tool the provider runs:
// {"toolUseId","status"?,"type"?}.
func (r reader) bedrockResultStart(mem *Decoder, v jsonscan.Value) *wire.Problem {
	w := wire.Body{Writer: r.Writer}
	mem.Answer.ID = wire.Keep(w.Text("toolUseId", v.Member("toolUseId")))
	if status := w.Text("status", v.Member("status")); status != "" {
		mem.Answer.Status = w.OneOf("status", status, "success", "error")
	}
	if w.Problem == nil && mem.Answer.ID == "" {
		w.Fail(&wire.Problem{Code: wire.BadShape, Text: "the result names no call: toolUseId is missing or empty"})
	}
	if w.Problem != nil {
		mem.Answer = BedrockAnswer{}
	}
	return w.Problem
}

// bedrockAnswer keeps a piece of that result: a list of content blocks.
func (r reader) bedrockAnswer(mem *Decoder, index, list jsonscan.Value) *wire.Problem {
	if !list.IsArray() {
		return wire.WrongType("contentBlockDelta.delta.toolResult", list, "a list of blocks")
	}
	a := &mem.Answer
	if a.ID == "" || mem.Block != index.Raw {
		return &wire.Problem{Code: wire.BadShape, Text: "a piece of a tool result comes without the start of its block, which names its call"}
	}
	for e := list.Elements(); e.Next(); {
		if len(a.Blocks)+len(e.Value.Raw) > keptAnswer {
			id := a.ID
			r.bedrockAnswered(mem)
			return &wire.Problem{Code: wire.OverLimit, Text: fmt.Sprintf("the result of %q is longer than %d bytes: the rest of it is dropped", wire.Clip(id), keptAnswer)}
		}
		if len(a.Blocks) > 0 {
			a.Blocks = append(a.Blocks, ',')
		}
		a.Blocks = append(a.Blocks, e.Value.Raw...)
	}
	return nil
}

// bedrockAnswered emits the result that came in pieces, if there is one: as
// one text where it has nothing else.
func (r reader) bedrockAnswered(mem *Decoder) {
	a := mem.Answer
	mem.Answer = BedrockAnswer{}
	if a.ID == "" {
		return
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: a.ID, Status: a.Status}
	blocks := "[" + string(a.Blocks) + "]"
	var text strings.Builder
	for e := jsonscan.ValueOf(blocks).Elements(); e.Next(); {
		t := e.Value.Member("text")
		if !t.IsString() {
			c.Content = r.Compact(blocks)
			break
		}
		text.WriteString(r.Text(t))
	}
	if c.Content == "" {
		c.Text = text.String()
	}
	r.Emit(c)
}

// bedrockWhole reads a message that was not streamed: the answer of Converse,
// {"output":{"message":{"role","content"}},"stopReason","usage"}, or a user's
// message, which carries the results of client tools.
func (r reader) bedrockWhole(v jsonscan.Value) (first *wire.Problem) {
	message := v.Member("output").Member("message")
	answer := message.IsObject()
	if !answer {
		message = v
	}
	content := message.Member("content")
	if !content.IsArray() {
		return wire.WrongType("content", content, "a list of blocks")
	}
	if answer {
		*r.d = Decoder{}
		r.Emit(chunks.Chunk{Kind: chunks.Start, Role: r.Text(message.Member("role")), Fresh: true})
	}
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		if p := r.bedrockBlock(chunks.Chunk{Part: i, Whole: true}, e.Value, answer); p != nil && first == nil {
			first = p
		}
	}
	if answer {
		r.bedrockFinish(v.Member("stopReason"))
		if usage := v.Member("usage"); usage.IsObject() {
			r.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: r.Compact(usage.Raw)})
		}
		r.Emit(chunks.Chunk{Kind: chunks.Ended})
	}
	return first
}

// bedrockBlock emits a block of a full message; of a user's, only results.
func (r reader) bedrockBlock(of chunks.Chunk, block jsonscan.Value, answer bool) *wire.Problem {
	for m := block.Members(); m.Next(); {
		switch {
		case m.Key == "toolResult":
			return r.ToolResult(wire.ReadResult(m.Value))
		case !answer:
		case m.Key == "toolUse":
			of.Part = 0
			r.bedrockCall(of, m.Value)
		case m.Key == "text", m.Key == "reasoningContent":
			c := chunks.Chunk{Kind: chunks.Text, Part: of.Part, Text: r.Text(m.Value)}
			if m.Key == "reasoningContent" {
				c.Kind, c.Text = chunks.Reasoning, r.Text(m.Value.Member("reasoningText").Member("text"))
			}
			if c.Text != "" {
				r.Emit(c)
			}
		}
	}
	return nil
}
