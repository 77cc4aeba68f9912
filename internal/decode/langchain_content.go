package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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
func (r *Reader) langContent(of chunks.Chunk, content gjson.Result, want langReading) {
	if isString(content) {
		r.langText(of, chunks.Text, content, want)
		return
	}
	for e := elements(content); e.next(); {
		if isString(e.value) {
			r.langText(of, chunks.Text, e.value, want)
		} else {
			r.langBlock(of, e.value, want)
		}
	}
}

func (r *Reader) langText(of chunks.Chunk, kind chunks.Kind, v gjson.Result, want langReading) {
	if !want.text {
		return
	}
	if of.Text = r.text(v); of.Text != "" {
		of.Kind = kind
		r.emit(of)
	}
}

// langBlockFields are the members of a block, whatever its type.
type langBlockFields struct {
	kind, id, name, index, text, thought, args, input, partial, use gjson.Result
}

func langBlockMembers(block gjson.Result) (b langBlockFields) {
	for m := members(block); m.next(); {
		switch m.key {
		case "type":
			b.kind = m.value
		case "id":
			b.id = m.value
		case "name":
			b.name = m.value
		case "index":
			b.index = m.value
		case "text":
			b.text = m.value
		case "thinking", "reasoning", "reasoning_content":
			b.thought = m.value
		case "args":
			b.args = m.value
		case "input":
			b.input = m.value
		case "partial_json":
			b.partial = m.value
		case "tool_use_id", "tool_call_id":
			b.use = m.value
		}
	}
	return b
}

func (r *Reader) langBlock(of chunks.Chunk, block gjson.Result, want langReading) {
	b := langBlockMembers(block)
	of.Part = langPartOf(b.index)
	switch kind := b.kind.Str; kind {
	case "text", "text_delta", "output_text":
		r.langText(of, chunks.Text, b.text, want)
	case "thinking", "reasoning", "reasoning_content":
		if isObject(b.thought) { // Bedrock's
			b.thought = member(b.thought, "text")
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
		if strings.HasSuffix(kind, "tool_result") && isString(b.use) {
			r.langBlockResult(of, block)
		}
	}
}

// langBlockCall emits a call that a block carries. An input that is an object
// gives way to text, which follows in pieces.
func (r *Reader) langBlockCall(of chunks.Chunk, b langBlockFields, want langReading) {
	of.Kind, of.Part, of.Whole = chunks.Fragment, 0, want.whole
	if present(b.index) {
		of.Index = b.index.Raw
	}
	of.ID, of.Name = r.text(b.id), r.text(b.name)
	for _, v := range [...]gjson.Result{b.input, b.args, b.partial} {
		switch {
		case isString(v):
			of.Args, of.Object, of.Weak = r.text(v), false, false
		case isObject(v):
			if args := r.compact(v.Raw); args != "{}" || want.whole || b.kind.Str == "tool_call" || b.kind.Str == "server_tool_call" {
				of.Args, of.Object = args, true
				of.Weak = !want.whole && v.Raw == b.input.Raw
			}
		}
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		r.emit(of)
	}
}

// langBlockResult emits the result of a call that the provider ran. What is
// not in the shape of a result is passed over: the model has read it.
func (r *Reader) langBlockResult(of chunks.Chunk, block gjson.Result) {
	n := len(r.out)
	if r.toolResult(resultFields(block)) != nil {
		return
	}
	for i := range r.out[n:] {
		c := &r.out[n+i]
		c.Namespace, c.Message, c.Choice, c.Repeated = of.Namespace, of.Message, of.Choice, of.Repeated
	}
}

// langPartOf gives the number of a content part: an index is a number, or a
// word that ends in one ("lc_txt_0").
func langPartOf(index gjson.Result) int {
	if isString(index) {
		return integer(gjson.Result{Type: gjson.Number, Raw: index.Str[strings.LastIndexByte(index.Str, '_')+1:]})
	}
	return integer(index)
}
