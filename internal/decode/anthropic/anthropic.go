package anthropic

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Anthropic's messages:
// https://docs.anthropic.com/en/docs/build-with-claude/streaming
//
//	message_start{message:{id}} → content_block_start{index,content_block:{type:"tool_use",id,name,input}}
//	→ content_block_delta{index,delta:{type:"input_json_delta",partial_json}} … → content_block_stop{index}
//	→ message_delta{delta:{stop_reason},usage} → message_stop; ping and error anywhere

// Decoder is what the anthropic format remembers between events.
type Decoder struct {
	Message string         `json:"m,omitzero"` // id of the message that began last
	Block   string         `json:"b,omitzero"` // raw index of the block that is open
	Kind    wire.BlockKind `json:"k,omitzero"` // of that block
	Usage   string         `json:"u,omitzero"` // raw, of message_start, which message_delta completes
}

func claims(f wire.Frame) wire.Claim {
	var kind, role, content, failure, sequence jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "type":
			if kind = m.Value; strings.HasPrefix(kind.Str, "content_block_") {
				return wire.Surely
			}
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		case "error":
			failure = m.Value
		case "sequence_number":
			sequence = m.Value
		}
	}
	switch kind.Str {
	case "message_start", "message_delta", "message_stop":
		return wire.Surely
	case "ping":
		return wire.Perhaps
	case "message":
		if role.Str == "assistant" && content.IsArray() && sequence.Raw == "" {
			return wire.Surely
		}
	case "error":
		// OpenAI's Responses number theirs.
		if failure.IsObject() && sequence.Raw == "" {
			return wire.Surely
		}
	}
	if role.Str == "user" && hasToolResult(content) {
		return wire.Surely
	}
	return wire.No
}

func hasToolResult(content jsonscan.Value) bool {
	for e := content.Elements(); e.Next(); {
		if e.Value.Member("type").Str == "tool_result" {
			return true
		}
	}
	return false
}

// anthropicEvent is an event's members, whatever its type.
type anthropicEvent struct {
	kind, index, block, delta, message, usage, failure, content jsonscan.Value
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	var e anthropicEvent
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "type":
			e.kind = m.Value
		case "index":
			e.index = m.Value
		case "content_block":
			e.block = m.Value
		case "delta":
			e.delta = m.Value
		case "message":
			e.message = m.Value
		case "usage":
			e.usage = m.Value
		case "error":
			e.failure = m.Value
		case "content":
			e.content = m.Value
		}
	}
	mem := r.d
	switch e.kind.Str {
	case "content_block_delta":
		return r.anthropicDelta(mem, e)
	case "content_block_start":
		return r.anthropicStart(mem, e)
	case "content_block_stop":
		r.anthropicStop(mem, e.index)
	case "message_start":
		return r.anthropicMessage(mem, e.message)
	case "message_delta":
		r.anthropicEnding(mem, e.delta, e.usage)
	case "message_stop":
		r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
		mem.Block, mem.Kind, mem.Usage = "", wire.NoBlock, ""
	case "error":
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: mem.Message, Text: r.FailureText(e.failure)})
		mem.Block, mem.Kind = "", wire.NoBlock
	case "message":
		return r.anthropicWhole(mem, f.JSON)
	case "": // a user's message, which carries the results of client tools
		return r.ToolResults(e.content)
	}
	return nil
}

// anthropicMessage begins a message. There may be a second one before the
// first has ended, where a proxy splices two answers.
func (r reader) anthropicMessage(mem *Decoder, message jsonscan.Value) *wire.Problem {
	if !message.IsObject() {
		return wire.WrongType("message", message, "an object")
	}
	var id, role, content, usage jsonscan.Value
	for m := message.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		case "usage":
			usage = m.Value
		}
	}
	*mem = Decoder{Message: wire.Keep(r.Text(id))}
	if usage.IsObject() && len(usage.Raw) <= wire.MaxUsage {
		mem.Usage = strings.Clone(usage.Raw)
	}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: r.Text(role), Fresh: true})
	return r.anthropicBlocks(mem.Message, content)
}

// anthropicStart begins a block. Blocks are sequential, so one that is still
// open then has all it gets (proxies drop content_block_stop).
func (r reader) anthropicStart(mem *Decoder, e anthropicEvent) *wire.Problem {
	if !e.block.IsObject() {
		return wire.WrongType("content_block", e.block, "an object")
	}
	if mem.Kind == wire.CallBlock && mem.Block != e.index.Raw {
		r.Emit(chunks.Chunk{Kind: chunks.Next, Message: mem.Message, Index: e.index.Raw})
	}
	kind, problem := r.anthropicBlock(chunks.Chunk{Message: mem.Message, Index: e.index.Raw, Part: e.index.Int()}, e.block)
	mem.Block, mem.Kind = wire.Keep(e.index.Raw), kind
	return problem
}

// anthropicBlock emits a block's beginning, or a whole block of a full message
// (of.Whole), and tells its kind. The input of a beginning is {} and gives way
// to deltas; where it is not empty and none come, it is the args.
func (r reader) anthropicBlock(of chunks.Chunk, block jsonscan.Value) (wire.BlockKind, *wire.Problem) {
	var kind, id, name, input, text, caller, use jsonscan.Value
	for m := block.Members(); m.Next(); {
		switch m.Key {
		case "type":
			kind = m.Value
		case "id":
			id = m.Value
		case "name":
			name = m.Value
		case "input":
			input = m.Value
		case "text", "thinking":
			text = m.Value
		case "caller":
			caller = m.Value
		case "tool_use_id":
			use = m.Value
		}
	}
	switch {
	case kind.Str == "text", kind.Str == "thinking":
		c := chunks.Chunk{Kind: chunks.Text, Message: of.Message, Part: of.Part, Text: r.Text(text)}
		if kind.Str == "thinking" {
			c.Kind = chunks.Reasoning
		}
		if c.Text != "" {
			r.Emit(c)
		}
		return wire.PartBlock, nil
	case strings.HasSuffix(kind.Str, "tool_use"):
		of.Kind, of.Part, of.Final = chunks.Fragment, 0, true
		of.ID, of.Name = r.Text(id), r.Text(name)
		of.ParentCall = r.Text(caller.Member("tool_id"))
		of.CallKind, of.Provider = anthropicCallKind(kind.Str)
		args := r.Compact(input.Raw)
		if input.IsString() { // as proxies spell it that have only the text
			args = r.Text(input)
		}
		if (input.IsObject() || input.IsString() && wire.Valid(args)) && (of.Whole || args != "{}") {
			of.Args, of.Object, of.Weak = args, true, !of.Whole
		}
		r.Emit(of)
		return wire.CallBlock, nil
	case use.IsString():
		// Of a tool the provider ran; its call may be in an earlier message.
		if problem := r.ToolResult(wire.ReadResult(block)); problem != nil {
			return wire.OtherBlock, problem
		}
	}
	return wire.OtherBlock, nil
}

func anthropicCallKind(block string) (kind string, provider bool) {
	if block == "tool_use" {
		return "", false
	}
	return "server", true // its connector for MCP runs with the provider too
}

func (r reader) anthropicDelta(mem *Decoder, e anthropicEvent) *wire.Problem {
	if !e.delta.IsObject() {
		return wire.WrongType("delta", e.delta, "an object")
	}
	c := chunks.Chunk{Message: mem.Message}
	var content jsonscan.Value
	for m := e.delta.Members(); m.Next(); {
		switch m.Key {
		case "partial_json":
			c.Kind, content = chunks.Fragment, m.Value
		case "text":
			c.Kind, content = chunks.Text, m.Value
		case "thinking":
			c.Kind, content = chunks.Reasoning, m.Value
		}
	}
	s := r.Text(content)
	if content.IsNested() {
		s = r.Compact(content.Raw) // of a proxy that has parsed it
	}
	switch {
	case s == "":
	case c.Kind != chunks.Fragment:
		c.Text, c.Part = s, e.index.Int()
		r.Emit(c)
	case !mem.skips(e.index.Raw):
		c.Args, c.Index = s, e.index.Raw
		r.Emit(c)
	}
	return nil
}

// anthropicStop ends a block. Of one whose beginning was not seen it is not
// known what it was; a Seal that names no call says nothing.
func (r reader) anthropicStop(mem *Decoder, index jsonscan.Value) {
	kind := wire.CallBlock
	if mem.Block == index.Raw && mem.Kind != wire.NoBlock {
		kind = mem.Kind
		mem.Block, mem.Kind = "", wire.NoBlock
	}
	switch kind {
	case wire.CallBlock:
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, Index: index.Raw})
	case wire.PartBlock:
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: index.Int()})
	}
}

// anthropicEnding reads message_delta: the stop reason, and usage, which
// replaces and completes what message_start said.
func (r reader) anthropicEnding(mem *Decoder, delta, usage jsonscan.Value) {
	if reason := r.Text(delta.Member("stop_reason")); reason != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: mem.Message, Reason: reason, Truncated: wire.AnthropicTruncates(reason)})
	}
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: mem.Message, Usage: r.merge(mem.Usage, usage)})
	}
}

// merge gives the object over with those members of the object under before
// it that it lacks.
func (r reader) merge(under string, over jsonscan.Value) string {
	if under == "" {
		return over.Raw
	}
	return r.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := jsonscan.ValueOf(under).Members(); m.Next(); {
			if over.Member(m.Key).Raw == "" {
				dst = wire.AppendMember(dst, &m)
			}
		}
		for m := over.Members(); m.Next(); {
			dst = wire.AppendMember(dst, &m)
		}
		return append(dst, '}')
	})
}

// anthropicWhole reads a message that was not streamed.
func (r reader) anthropicWhole(mem *Decoder, message jsonscan.Value) *wire.Problem {
	problem := r.anthropicMessage(mem, message)
	mem.Usage = ""
	r.anthropicEnding(mem, message, message.Member("usage"))
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: mem.Message})
	return problem
}

// anthropicBlocks emits the blocks of a full message; the index of each is its
// place.
func (r reader) anthropicBlocks(message string, content jsonscan.Value) (problem *wire.Problem) {
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		if !e.Value.IsObject() {
			return wire.WrongType("content", e.Value, "a list of blocks")
		}
		if _, p := r.anthropicBlock(chunks.Chunk{Message: message, Index: strconv.Itoa(i), Part: i, Whole: true}, e.Value); p != nil && problem == nil {
			problem = p
		}
	}
	return problem
}

// skips reports whether the deltas of a block are not used: the block of the
// index is not a call.
func (d *Decoder) skips(index string) bool { return d.Kind == wire.OtherBlock && d.Block == index }
