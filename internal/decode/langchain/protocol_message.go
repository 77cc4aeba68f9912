package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type protocolData struct {
	event, run, id, role, call, index, content, delta, reason, usage, message jsonscan.Value
}

func protocolFields(data jsonscan.Value) (d protocolData) {
	data.Read(
		d.event.From("event"), d.run.From("run_id"), d.run.From("runId"), d.id.From("id"),
		d.role.From("role"), d.call.From("tool_call_id"), d.call.From("toolCallId"),
		d.index.From("index"), d.content.From("content"), d.delta.From("delta"), d.reason.From("reason"),
		d.usage.From("usage"), d.message.From("message"),
	)
	return d
}

// protocolMessage reads an event of a message. Only the start names the message. The
// other events belong to the message that is open in their namespace and run.
func (r reader) protocolMessage(ns string, data jsonscan.Value) *wire.Problem {
	d := protocolFields(data)
	if d.event.Str == "message-start" {
		r.protocolStart(ns, d)
		return nil
	}
	at := r.d.Streams.find(ns, r.Text(d.run))
	var open protocolOpen
	if at >= 0 {
		open = r.d.Streams.Open[at]
	}
	of := chunks.Chunk{Namespace: ns, Message: open.ID}
	switch d.event.Str {
	case "content-block-start":
		return r.protocolBlock(of, at, d)
	case "content-block-delta":
		return r.protocolDelta(of, at, d)
	case "content-block-finish":
		return r.protocolBlockEnd(of, at, d)
	case "message-finish":
		r.d.Streams.drop(at)
		if !open.Silent {
			r.protocolFinish(of, d)
		}
	case "usage":
		if at >= 0 && !open.Silent && d.usage.IsObject() {
			of.Kind, of.Usage = chunks.Usage, d.usage.Raw
			r.Emit(of)
		}
	case "error":
		r.d.Streams.drop(at)
		of.Kind, of.Text = chunks.Failure, r.Text(d.message)
		r.Emit(of)
	case "provider", "raw": // the events of the provider, which the others repeat
	default:
		r.Unknown("messages event", d.event.Str, data)
	}
	return nil
}

// protocolStart begins a message. The message of a tool contains a result, which the
// tools channel contains too. A human message interrupts; that of a subagent is its
// task and does not.
func (r reader) protocolStart(ns string, d protocolData) {
	r.d.Messages.streams()
	id, role := r.Text(d.id), d.role.Str
	if id == "" {
		id = r.Text(d.run)
	}
	human := (role == "human" || role == "user") && !strings.Contains(ns, "|")
	r.d.Streams.begin(protocolOpen{
		Namespace: ns, Run: r.Text(d.run), ID: id, Call: r.Text(d.call),
		Silent: role != "" && role != "ai" && role != "assistant", Human: human,
	})
	switch {
	case human:
		r.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: ns, ID: id})
	case role == "", role == "ai", role == "assistant":
		r.d.Messages.stream(ns, id, summary{text: true})
		r.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: ns, Message: id, Role: "assistant"})
	}
}

// protocolBlock begins a block. Blocks are sequential, so the call before it is
// complete, even where its finish was lost.
func (r reader) protocolBlock(of chunks.Chunk, at int, d protocolData) *wire.Problem {
	if !d.content.IsObject() {
		return wire.WrongType("content of content-block-start", d.content, "an object")
	}
	if at >= 0 {
		if r.d.Streams.Open[at].Silent {
			r.humanText(at, readBlock(d.content).text)
			return nil
		}
		if r.d.Streams.Open[at].Block {
			of := of
			of.Kind, of.Index = chunks.Next, wire.RawIndex(d.index)
			r.Emit(of)
		}
	}
	n := r.Len()
	call := r.protocolContent(of, d.index, d.content)
	streamed := false
	for _, c := range r.Since(n) {
		streamed = streamed || c.Text != "" || c.Args != ""
	}
	r.d.Streams.block(at, call, streamed)
	return nil
}

func (r reader) humanText(at int, text jsonscan.Value) {
	if at < 0 || !r.d.Streams.Open[at].Human {
		return
	}
	m := &r.d.Streams.Open[at]
	if s := r.Text(text); s != "" {
		r.Emit(chunks.Chunk{Kind: chunks.HumanText, Namespace: m.Namespace, ID: m.ID, Text: s})
		r.d.Streams.streamed(at)
	}
}

// protocolContent emits the beginning of a block, or a piece of a block. It reports
// whether the block is a call.
func (r reader) protocolContent(of chunks.Chunk, index, block jsonscan.Value) bool {
	b := readBlock(block)
	switch b.kind.Str {
	case "text":
		of.Kind, of.Text = chunks.Text, r.Text(b.text)
	case "reasoning", "thinking":
		of.Kind, of.Text = chunks.Reasoning, r.Text(b.thought)
	case "tool_call_chunk", "tool_call", "tool_use", "server_tool_call_chunk", "server_tool_call", "server_tool_use", "mcp_tool_use":
		r.protocolCall(of, index, b)
		return true
	case "server_tool_result": // its end has the result
	default:
		r.Unknown("content block", b.kind.Str, block)
	}
	if of.Part = index.Int(); of.Text != "" {
		r.Emit(of)
	}
	return false
}

// protocolCall emits the beginning of a call or a piece of it. Args have precedence over
// an input that is an object.
func (r reader) protocolCall(of chunks.Chunk, index jsonscan.Value, b blockFields) {
	r.noArgs(&b)
	of.Kind, of.Index = chunks.Fragment, wire.RawIndex(index)
	of.ID, of.Name = r.Text(b.id), r.Text(b.name)
	of.Final = of.ID != "" && of.Name != ""
	if b.kind.Str != "tool_call" && b.kind.Str != "tool_call_chunk" && b.kind.Str != "tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	switch {
	case b.args.IsString():
		of.Args = r.Text(b.args)
	case b.args.IsObject():
		of.Args, of.Object, of.Weak = r.Compact(b.args.Raw), true, true
	case b.input.IsObject():
		of.Args, of.Object, of.Weak = r.Compact(b.input.Raw), true, true
	}
	if of.Object && of.Args == "{}" {
		of.Args, of.Object, of.Weak = "", false, false
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		r.Emit(of)
	}
}

// protocolDelta emits a piece of a block. The fragments of the provider
// (input_json_delta) repeat the args beside them and are not read.
func (r reader) protocolDelta(of chunks.Chunk, at int, d protocolData) *wire.Problem {
	if !d.delta.IsObject() {
		return wire.WrongType("delta of content-block-delta", d.delta, "an object")
	}
	if at >= 0 && r.d.Streams.Open[at].Silent {
		r.humanText(at, d.delta.Member("text"))
		return nil
	}
	var kind, text, fields jsonscan.Value
	d.delta.Read(kind.From("type"), text.From("text"), text.From("reasoning"), fields.From("fields"))
	of.Part = d.index.Int()
	switch kind.Str {
	case "text-delta", "reasoning-delta":
		of.Kind = chunks.Text
		if kind.Str == "reasoning-delta" {
			of.Kind = chunks.Reasoning
		}
		if of.Text = r.Text(text); of.Text != "" {
			r.Emit(of)
		}
	case "block-delta":
		of.Part = 0
		f := readBlock(fields)
		switch kind := f.kind.Str; {
		case strings.Contains(kind, "tool_call"):
			r.protocolCall(of, d.index, f)
		case kind != "input_json_delta":
			r.Unknown("block-delta", kind, fields)
		}
	case "input_json_delta":
	default:
		r.Unknown("delta", kind.Str, d.delta)
	}
	if r.Len() > 0 {
		r.d.Streams.streamed(at)
	}
	return nil
}

// protocolBlockEnd ends a block. Its content has precedence over what was streamed.
func (r reader) protocolBlockEnd(of chunks.Chunk, at int, d protocolData) *wire.Problem {
	var open protocolOpen
	if at >= 0 {
		open = r.d.Streams.Open[at]
	}
	if !d.content.IsObject() {
		return wire.WrongType("content of content-block-finish", d.content, "an object")
	}
	b := readBlock(d.content)
	if open.Silent {
		if !open.Streamed {
			r.humanText(at, b.text)
		}
		r.d.Streams.block(at, false, false)
		if open.Call != "" && b.kind.Str == "text" && !r.d.Streams.answered(open.Call) {
			r.Emit(chunks.Chunk{Kind: chunks.Result, Namespace: of.Namespace, ID: open.Call, Status: "success", Text: r.Text(b.text)})
		}
		return nil
	}
	switch kind := b.kind.Str; kind {
	case "text", "reasoning", "thinking":
		if open.ID != "" && !open.Streamed {
			r.protocolContent(of, d.index, d.content)
		}
		of.Kind, of.Part = chunks.PartEnd, d.index.Int()
		r.Emit(of)
	case "invalid_tool_call":
		// The args are not JSON. The finish reason shows whether the answer is
		// truncated.
		if !open.Streamed {
			r.protocolCall(of, d.index, blockFields{kind: jsonscan.Value{Str: "tool_call"}, id: b.id, name: b.name, args: b.args})
		}
	case "server_tool_result":
		r.protocolServerResult(of, d.content)
	case "tool_call", "tool_call_chunk", "tool_use", "server_tool_call", "server_tool_call_chunk", "server_tool_use", "mcp_tool_use", "input_json_delta":
		r.protocolCallEnd(of, open.Block, d.index, b)
	default:
		if strings.HasSuffix(kind, "tool_result") {
			r.blockResult(of, d.content)
		} else {
			r.Unknown("content block", kind, d.content)
		}
	}
	return nil
}

// protocolCallEnd emits a whole call. In the blocks of LangChain JS input is the last
// fragment, and args is the whole text. If begun is true, the beginning of the call
// was emitted.
func (r reader) protocolCallEnd(of chunks.Chunk, begun bool, index jsonscan.Value, b blockFields) {
	r.noArgs(&b)
	of.Kind, of.Index, of.Whole = chunks.Fragment, wire.RawIndex(index), true
	of.ID, of.Name = r.Text(b.id), r.Text(b.name)
	if strings.HasPrefix(b.kind.Str, "server_") || b.kind.Str == "mcp_tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	if !b.args.Present() && b.input.IsObject() {
		b.args = b.input
	}
	if of.Args = r.Text(b.args); b.args.IsObject() {
		of.Args, of.Object = r.Compact(b.args.Raw), true
	}
	if of.ID != "" {
		of.Final = of.Name != ""
		r.Emit(of)
		return
	}
	// A call without an id is matched by its index.
	of.Whole, of.Weak = false, of.Object
	if begun {
		of.Name = ""
	}
	if of.Object {
		r.Emit(of)
	}
	r.Emit(chunks.Chunk{Kind: chunks.Seal, Namespace: of.Namespace, Message: of.Message, Index: of.Index})
}

// protocolServerResult emits {"tool_call_id","status","output"}.
func (r reader) protocolServerResult(of chunks.Chunk, block jsonscan.Value) {
	of.Kind, of.Status = chunks.Result, "success"
	for m := block.Members(); m.Next(); {
		switch m.Key {
		case "tool_call_id", "toolCallId":
			of.ID = r.Text(m.Value)
		case "status":
			if m.Value.Str == "error" {
				of.Status = "error"
			}
		case "output":
			if of.Text = r.Text(m.Value); m.Value.IsNested() {
				of.Content = r.Compact(m.Value.Raw)
			}
		}
	}
	if of.ID != "" {
		r.Emit(of)
	}
}

func (r reader) protocolFinish(of chunks.Chunk, d protocolData) {
	r.d.Messages.done(of.Namespace, of.Message)
	reason := r.Text(d.reason)
	c := of
	c.Kind, c.Reason, c.Truncated = chunks.Finish, reason, truncates(reason)
	r.Emit(c)
	if d.usage.IsObject() {
		c = of
		c.Kind, c.Usage = chunks.Usage, d.usage.Raw
		r.Emit(c)
	}
	of.Kind = chunks.Ended
	r.Emit(of)
}
