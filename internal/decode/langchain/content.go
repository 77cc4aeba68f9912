package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type selection struct {
	text  bool // text and reasoning, which a repeated message has emitted already
	calls bool // calls for the client to run; tool_call_chunks has precedence
	whole bool // the blocks are whole, not pieces
	alone bool // the message has its calls nowhere else
}

// emitContent emits content: a string, or a list of strings and of blocks. Blocks are
// LangChain's own (version v1) or those of the provider:
// https://docs.langchain.com/oss/python/langchain/messages#content-block-reference
func (d *decoder) emitContent(w *wire.Writer, of chunks.Chunk, content jsonscan.Value, want selection) {
	if content.IsString() {
		d.emitText(w, of, chunks.Text, content, want)
		return
	}
	for e := content.Elements(); e.Next(); {
		if e.Value.IsString() {
			d.emitText(w, of, chunks.Text, e.Value, want)
		} else {
			d.block(w, of, e.Value, want)
		}
	}
}

func (d *decoder) emitText(w *wire.Writer, of chunks.Chunk, kind chunks.Kind, v jsonscan.Value, want selection) {
	if of.Kind = kind; want.text {
		w.EmitText(of, v)
	}
}

type blockFields struct {
	kind, id, name, index, text, thought, args, input, partial, use jsonscan.Value
	whole                                                           jsonscan.Value
}

func readBlock(block jsonscan.Value) (b blockFields) {
	b.whole = block
	block.Read(
		b.kind.From("type"), b.id.From("id"), b.name.From("name"), b.index.From("index"),
		b.text.From("text"), b.thought.From("thinking"), b.thought.From("reasoning"),
		b.thought.From("reasoning_content"), b.args.From("args"), b.input.From("input"),
		b.partial.From("partial_json"), b.use.From("tool_use_id"), b.use.From("tool_call_id"),
	)
	return b
}

func (d *decoder) block(w *wire.Writer, of chunks.Chunk, block jsonscan.Value, want selection) {
	b := readBlock(block)
	of.Part = partNumber(b.index)
	switch kind := b.kind.Str; kind {
	case "text", "text_delta", "output_text":
		d.emitText(w, of, chunks.Text, b.text, want)
	case "thinking", "reasoning", "reasoning_content":
		if b.thought.IsObject() { // Bedrock's
			b.thought = b.thought.Member("text")
		}
		d.emitText(w, of, chunks.Reasoning, b.thought, want)
	case "tool_use", "input_json_delta", "tool_call_chunk", "tool_call", "invalid_tool_call":
		if want.calls {
			d.blockCall(w, of, b, want)
		}
	case "server_tool_use", "mcp_tool_use", "server_tool_call", "server_tool_call_chunk":
		of.CallKind, of.Provider = "server", true
		if kind == "mcp_tool_use" {
			of.CallKind = "mcp"
		}
		d.blockCall(w, of, b, want)
	default:
		if strings.HasSuffix(kind, "tool_result") && b.use.IsString() {
			_ = w.ToolResult(of, wire.ReadResult(block)) // one without its shape was for the model alone
		} else if want.alone {
			w.Unknown("content block", kind, block)
		}
	}
}

// blockCall emits the call of a block. Text that follows in pieces replaces an input
// that is an object.
func (d *decoder) blockCall(w *wire.Writer, of chunks.Chunk, b blockFields, want selection) {
	of.Kind, of.Part, of.Whole = chunks.Fragment, 0, want.whole
	if b.index.Present() {
		of.Index = b.index.Raw
	}
	of.ID, of.Name = w.Text(b.id), w.Text(b.name)
	for _, v := range [...]jsonscan.Value{b.input, b.args, b.partial} {
		switch {
		case v.IsString():
			of.Args, of.Object, of.Weak = w.Text(v), false, false
		case v.IsObject():
			if args := w.Compact(v.Raw); args != "{}" || want.whole || b.kind.Str == "tool_call" || b.kind.Str == "server_tool_call" {
				of.Args, of.Object = args, true
				of.Weak = !want.whole && v.Raw == b.input.Raw
			}
		}
	}
	w.EmitCall(of)
	d.noArgs(w, &b)
}

func (d *decoder) noArgs(w *wire.Writer, b *blockFields) {
	if !b.input.Present() && !b.args.Present() && !b.partial.Present() {
		w.UnknownMembers("the content block", b.whole)
	}
}

// partNumber returns the number of a content part. An index is a number, or a string
// that ends in a number ("lc_txt_0").
func partNumber(index jsonscan.Value) int {
	if index.IsString() {
		return jsonscan.Value{Kind: jsonscan.Number, Raw: index.Str[strings.LastIndexByte(index.Str, '_')+1:]}.Int()
	}
	return index.Int()
}
