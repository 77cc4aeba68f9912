package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// langReading says what of a message's content is wanted.
type langReading struct {
	text  bool // text and reasoning; a repeated message has said it already
	calls bool // calls for the client to run; tool_call_chunks has them too, and goes first
	whole bool // the blocks are whole, not pieces
}

// langContent emits content: a string, or a list of strings and of blocks, be
// they LangChain's own (version v1) or the provider's, which it passes on:
// https://docs.langchain.com/oss/python/langchain/messages#content-block-reference
func (r reader) langContent(of chunks.Chunk, content jsonscan.Value, want langReading) {
	if content.IsString() {
		r.langText(of, chunks.Text, content, want)
		return
	}
	for e := content.Elements(); e.Next(); {
		if e.Value.IsString() {
			r.langText(of, chunks.Text, e.Value, want)
		} else {
			r.langBlock(of, e.Value, want)
		}
	}
}

func (r reader) langText(of chunks.Chunk, kind chunks.Kind, v jsonscan.Value, want langReading) {
	if !want.text {
		return
	}
	if of.Text = r.Text(v); of.Text != "" {
		of.Kind = kind
		r.Emit(of)
	}
}

// langBlockFields are the members of a block, whatever its type.
type langBlockFields struct {
	kind, id, name, index, text, thought, args, input, partial, use jsonscan.Value
}

func langBlockMembers(block jsonscan.Value) (b langBlockFields) {
	for m := block.Members(); m.Next(); {
		switch m.Key {
		case "type":
			b.kind = m.Value
		case "id":
			b.id = m.Value
		case "name":
			b.name = m.Value
		case "index":
			b.index = m.Value
		case "text":
			b.text = m.Value
		case "thinking", "reasoning", "reasoning_content":
			b.thought = m.Value
		case "args":
			b.args = m.Value
		case "input":
			b.input = m.Value
		case "partial_json":
			b.partial = m.Value
		case "tool_use_id", "tool_call_id":
			b.use = m.Value
		}
	}
	return b
}

func (r reader) langBlock(of chunks.Chunk, block jsonscan.Value, want langReading) {
	b := langBlockMembers(block)
	of.Part = langPartOf(b.index)
	switch kind := b.kind.Str; kind {
	case "text", "text_delta", "output_text":
		r.langText(of, chunks.Text, b.text, want)
	case "thinking", "reasoning", "reasoning_content":
		if b.thought.IsObject() { // Bedrock's
			b.thought = b.thought.Member("text")
		}
		r.langText(of, chunks.Reasoning, b.thought, want)
	case "tool_use", "input_json_delta", "tool_call_chunk", "tool_call":
		if want.calls {
			r.langBlockCall(of, b, want)
		}
	case "server_tool_use", "mcp_tool_use", "server_tool_call", "server_tool_call_chunk":
		of.CallKind, of.Provider = "server", true
		if kind == "mcp_tool_use" {
			of.CallKind = "mcp"
		}
		r.langBlockCall(of, b, want)
	default:
		if strings.HasSuffix(kind, "tool_result") && b.use.IsString() {
			r.langBlockResult(of, block)
		}
	}
}

// langBlockCall emits a call that a block carries. An input that is an object
// gives way to text, which follows in pieces.
func (r reader) langBlockCall(of chunks.Chunk, b langBlockFields, want langReading) {
	of.Kind, of.Part, of.Whole = chunks.Fragment, 0, want.whole
	if b.index.Present() {
		of.Index = b.index.Raw
	}
	of.ID, of.Name = r.Text(b.id), r.Text(b.name)
	for _, v := range [...]jsonscan.Value{b.input, b.args, b.partial} {
		switch {
		case v.IsString():
			of.Args, of.Object, of.Weak = r.Text(v), false, false
		case v.IsObject():
			if args := r.Compact(v.Raw); args != "{}" || want.whole || b.kind.Str == "tool_call" || b.kind.Str == "server_tool_call" {
				of.Args, of.Object = args, true
				of.Weak = !want.whole && v.Raw == b.input.Raw
			}
		}
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		r.Emit(of)
	}
}

// langBlockResult emits the result of a call that the provider ran. What is
// not in the shape of a result is passed over: the model has read it.
func (r reader) langBlockResult(of chunks.Chunk, block jsonscan.Value) {
	n := r.Len()
	if r.ToolResult(wire.ReadResult(block)) != nil {
		return
	}
	for i := range r.Since(n) {
		c := &r.Since(n)[i]
		c.Namespace, c.Message, c.Choice, c.Repeated = of.Namespace, of.Message, of.Choice, of.Repeated
	}
}

// langPartOf gives the number of a content part: an index is a number, or a
// word that ends in one ("lc_txt_0").
func langPartOf(index jsonscan.Value) int {
	if index.IsString() {
		return jsonscan.Value{Kind: jsonscan.Number, Raw: index.Str[strings.LastIndexByte(index.Str, '_')+1:]}.Int()
	}
	return index.Int()
}
