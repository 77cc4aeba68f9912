package anthropic

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startBlock begins a block. Blocks are sequential, so a block that is still open
// is complete. Some proxies drop content_block_stop.
func (r reader) startBlock(e *event) *wire.Problem {
	if !e.block.IsObject() {
		return wire.WrongType("content_block", e.block, "an object")
	}
	if r.d.Kind == wire.CallBlock && r.d.Block != e.index.Raw {
		r.Emit(chunks.Chunk{Kind: chunks.Next, Message: r.d.Message, Index: e.index.Raw})
	}
	kind, problem := r.block(chunks.Chunk{Message: r.d.Message, Index: e.index.Raw, Part: e.index.Int()}, e.block)
	r.d.Block, r.d.Kind = wire.Keep(e.index.Raw), kind
	return problem
}

type blockFields struct {
	kind, id, name, input, text, caller, use jsonscan.Value
}

func (b *blockFields) read(block jsonscan.Value) {
	block.Read(
		b.kind.From("type"), b.id.From("id"), b.name.From("name"), b.input.From("input"),
		b.text.From("text"), b.text.From("thinking"), b.caller.From("caller"), b.use.From("tool_use_id"),
	)
}

// block emits the beginning of a block, or a whole block of a whole message
// (of.Whole), and returns its kind.
func (r reader) block(of chunks.Chunk, block jsonscan.Value) (wire.BlockKind, *wire.Problem) {
	var b blockFields
	b.read(block)
	switch {
	case b.kind.Str == "text", b.kind.Str == "thinking":
		c := chunks.Chunk{Kind: chunks.Text, Message: of.Message, Part: of.Part, Text: r.Text(b.text)}
		if b.kind.Str == "thinking" {
			c.Kind = chunks.Reasoning
		}
		if c.Text != "" {
			r.Emit(c)
		}
		return wire.PartBlock, nil
	case strings.HasSuffix(b.kind.Str, "tool_use"):
		r.toolUse(of, &b)
		if !b.input.Present() {
			r.UnknownMembers("the content block", block, "caller")
		}
		return wire.CallBlock, nil
	case b.use.IsString():
		// The result of a tool that the provider ran. The call may be in an
		// earlier message.
		return wire.OtherBlock, r.ToolResult(wire.ReadResult(block))
	}
	r.Unknown("content block", b.kind.Str, block)
	return wire.OtherBlock, nil
}

// toolUse emits the beginning of a call, or a whole call (of.Whole). The input
// of a beginning is {}, and the deltas replace it. An input that is not empty is
// the args where no deltas follow.
func (r reader) toolUse(of chunks.Chunk, b *blockFields) {
	of.Kind, of.Part, of.Final = chunks.Fragment, 0, true
	of.ID, of.Name = r.Text(b.id), r.Text(b.name)
	of.ParentCall = r.Text(b.caller.Member("tool_id"))
	of.CallKind, of.Provider = callKind(b.kind.Str)
	args := r.Compact(b.input.Raw)
	if b.input.IsString() { // some proxies send the text of the input
		args = r.Text(b.input)
	}
	if (b.input.IsObject() || b.input.IsString() && wire.Valid(args)) && (of.Whole || args != "{}") {
		of.Args, of.Object, of.Weak = args, true, !of.Whole
	}
	r.Emit(of)
}

// callKind returns the kind of the call of a block, and whether the provider
// runs it. The provider also runs the calls of its MCP connector.
func callKind(block string) (kind string, provider bool) {
	if block == "tool_use" {
		return "", false
	}
	return "server", true
}

func (r reader) delta(e *event) *wire.Problem {
	if !e.delta.IsObject() {
		return wire.WrongType("delta", e.delta, "an object")
	}
	c := chunks.Chunk{Message: r.d.Message}
	var content jsonscan.Value
	for m := e.delta.Members(); m.Next(); {
		switch m.Key {
		case "partial_json":
			c.Kind, content = chunks.Fragment, m.Value
		case "text":
			c.Kind, content = chunks.Text, m.Value
		case "thinking":
			c.Kind, content = chunks.Reasoning, m.Value
		default:
			r.UnknownMember("the delta", m.Key, m.Value)
		}
	}
	s := r.Text(content)
	if content.IsNested() {
		s = r.Compact(content.Raw) // some proxies send parsed JSON
	}
	switch {
	case s == "":
	case c.Kind != chunks.Fragment:
		c.Text, c.Part = s, e.index.Int()
		r.Emit(c)
	case !r.d.skips(e.index.Raw):
		c.Args, c.Index, c.Exact = s, e.index.Raw, true
		r.Emit(c)
	}
	return nil
}

// stopBlock ends a block. The kind of a block without a known beginning is not
// known either: it may be a call, and a Seal without such a call has no effect.
func (r reader) stopBlock(index jsonscan.Value) {
	kind := wire.CallBlock
	if r.d.Block == index.Raw && r.d.Kind != wire.NoBlock {
		kind = r.d.Kind
		r.d.Block, r.d.Kind = "", wire.NoBlock
	}
	switch kind {
	case wire.CallBlock:
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: r.d.Message, Index: index.Raw})
	case wire.PartBlock:
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: r.d.Message, Part: index.Int()})
	}
}

// blocks emits the blocks of a whole message. The index of a block is its
// position.
func (r reader) blocks(message string, content jsonscan.Value) (problem *wire.Problem) {
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		if !e.Value.IsObject() {
			return wire.WrongType("content", e.Value, "a list of blocks")
		}
		if _, p := r.block(chunks.Chunk{Message: message, Index: strconv.Itoa(i), Part: i, Whole: true}, e.Value); p != nil && problem == nil {
			problem = p
		}
	}
	return problem
}
