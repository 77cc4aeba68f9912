package anthropic

import (
	"cmp"
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startBlock begins a block. Blocks are sequential, so a block that is still open
// is complete. Some proxies drop content_block_stop.
func (d *Decoder) startBlock(w *wire.Writer, index, block jsonscan.Value) *wire.Problem {
	if !block.IsObject() {
		return wire.WrongType("content_block", block, "an object")
	}
	if d.Kind == wire.CallBlock && d.Block != index.Raw {
		w.Emit(chunks.Chunk{Kind: chunks.Next, Message: d.Message, Index: index.Raw})
	}
	kind, problem := d.block(w, chunks.Chunk{Message: d.Message, Index: index.Raw, Part: index.Int()}, block)
	d.Block, d.Kind = wire.Keep(index.Raw), kind
	return problem
}

type blockFields struct {
	kind, id, name, input, text, thinking, caller, use jsonscan.Value
}

// block emits the beginning of a block, or a whole block of a whole message
// (of.Whole), and returns its kind.
func (d *Decoder) block(w *wire.Writer, of chunks.Chunk, block jsonscan.Value) (wire.BlockKind, *wire.Problem) {
	var b blockFields
	block.Read(
		b.kind.From("type"), b.id.From("id"), b.name.From("name"), b.input.From("input"),
		b.text.From("text"), b.thinking.From("thinking"), b.caller.From("caller"), b.use.From("tool_use_id"),
	)
	switch {
	case b.kind.Str == "text":
		w.EmitText(chunks.Chunk{Kind: chunks.Text, Message: of.Message, Part: of.Part}, b.text)
		return wire.PartBlock, nil
	case b.kind.Str == "thinking":
		w.EmitText(chunks.Chunk{Kind: chunks.Reasoning, Message: of.Message, Part: of.Part}, b.thinking)
		return wire.PartBlock, nil
	case strings.HasSuffix(b.kind.Str, "tool_use"):
		d.toolUse(w, of, &b)
		if !b.input.Present() {
			w.UnknownMembers("the content block", block, "caller")
		}
		return wire.CallBlock, nil
	case w.Text(b.use) != "" || b.use.IsString() && strings.HasSuffix(b.kind.Str, "tool_result"):
		// The result of a tool that the provider ran. The call may be in an
		// earlier message.
		return wire.OtherBlock, w.ToolResult(chunks.Chunk{}, wire.ReadResult(block))
	}
	w.Unknown("content block", b.kind.Str, block)
	return wire.OtherBlock, nil
}

// toolUse emits the beginning of a call, or a whole call (of.Whole). The input
// of a beginning is {}, and the deltas replace it. An input that is not empty is
// the args where no deltas follow.
func (d *Decoder) toolUse(w *wire.Writer, of chunks.Chunk, b *blockFields) {
	of.Kind, of.Part, of.Final = chunks.Fragment, 0, true
	of.ID, of.Name = w.Text(b.id), w.Text(b.name)
	of.ParentCall = w.Text(b.caller.Member("tool_id"))
	if b.kind.Str != "tool_use" { // the provider also runs the calls of its MCP connector
		of.CallKind, of.Provider = "server", true
	}
	args := w.Compact(b.input.Raw)
	if b.input.IsString() { // some proxies send the text of the input
		args = w.Text(b.input)
	}
	if (b.input.IsObject() || b.input.IsString() && wire.Valid(args)) && (of.Whole || args != "{}") {
		of.Args, of.Object, of.Weak = args, true, !of.Whole
	}
	if raw := b.input.Member("__unparsedToolInput").Member("raw"); raw.IsString() { // Claude Code, where the args are no JSON
		of.Args, of.Object, of.Weak = w.Text(raw), false, false
	}
	w.Emit(of)
}

func (d *Decoder) delta(w *wire.Writer, index, delta jsonscan.Value) *wire.Problem {
	if !delta.IsObject() {
		return wire.WrongType("delta", delta, "an object")
	}
	c, content := d.content(w, delta)
	s := w.Text(content)
	if content.IsNested() {
		s = w.Compact(content.Raw) // some proxies send parsed JSON
	}
	switch {
	case s == "":
	case c.Kind != chunks.Fragment:
		c.Text, c.Part = s, index.Int()
		w.Emit(c)
	case !d.skips(index.Raw):
		c.Args, c.Index, c.Exact = s, index.Raw, true
		w.Emit(c)
	}
	return nil
}

// content returns the content of a delta, and its chunk. The type decides: Go programs
// write the members of all types, and most of them are empty.
func (d *Decoder) content(w *wire.Writer, delta jsonscan.Value) (c chunks.Chunk, content jsonscan.Value) {
	var kind, args, text, thinking jsonscan.Value
	w.ReadKnown("the delta", delta, kind.From("type"), args.From("partial_json"), text.From("text"), thinking.From("thinking"))
	switch c.Message = d.Message; {
	case kind.Str == "input_json_delta", kind.Str != "text_delta" && kind.Str != "thinking_delta" && wire.Filled(args):
		c.Kind, content = chunks.Fragment, args
	case kind.Str == "thinking_delta", kind.Str != "text_delta" && wire.Filled(thinking):
		c.Kind, content = chunks.Reasoning, thinking
	default:
		c.Kind, content = chunks.Text, text
	}
	return c, content
}

// stopBlock ends a block. The kind of a block without a known beginning is not
// known either.
func (d *Decoder) stopBlock(w *wire.Writer, index jsonscan.Value) {
	kind := wire.NoBlock
	if d.Block == index.Raw {
		kind = d.Kind
		d.Block, d.Kind = "", wire.NoBlock
	}
	w.EndBlock(d.Message, kind, index)
}

// blocks emits the blocks of a whole message. The index of a block is its
// position.
func (d *Decoder) blocks(w *wire.Writer, message string, content jsonscan.Value) (problem *wire.Problem) {
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		if !e.Value.IsObject() {
			return wire.WrongType("content", e.Value, "a list of blocks")
		}
		_, p := d.block(w, chunks.Chunk{Message: message, Index: strconv.Itoa(i), Part: i, Whole: true}, e.Value)
		problem = cmp.Or(problem, p)
	}
	return problem
}

// Block emits a whole content block. The chunk of has the message, and the index and
// the part of the block.
func Block(w *wire.Writer, of chunks.Chunk, block jsonscan.Value) *wire.Problem {
	of.Whole = true
	_, problem := new(Decoder).block(w, of, block)
	return problem
}
