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

// protocolMessage reads an event of a message. Only the start names the message. The
// other events belong to the message that is open in their namespace and run.
func (d *decoder) protocolMessage(w *wire.Writer, ns string, data jsonscan.Value) *wire.Problem {
	var e protocolData
	data.Read(
		e.event.From("event"), e.run.From("run_id"), e.run.From("runId"), e.id.From("id"),
		e.role.From("role"), e.call.From("tool_call_id"), e.call.From("toolCallId"),
		e.index.From("index"), e.content.From("content"), e.delta.From("delta"), e.reason.From("reason"),
		e.usage.From("usage"), e.message.From("message"),
	)
	if e.event.Str == "message-start" {
		d.protocolStart(w, ns, e)
		return nil
	}
	at := d.Streams.find(ns, w.Text(e.run))
	if open := d.Streams.at(at); open.Silent && callOf(e) { // the start of the model's message is lost
		d.Streams.drop(at)
		at = -1
	}
	open := d.Streams.at(at)
	of := chunks.Chunk{Namespace: ns, Message: open.ID}
	switch e.event.Str {
	case "content-block-start":
		return d.protocolBlock(w, of, open, e)
	case "content-block-delta":
		return d.protocolDelta(w, of, open, e)
	case "content-block-finish":
		return d.protocolBlockEnd(w, of, open, e)
	case "message-finish":
		if !open.Silent {
			d.protocolFinish(w, of, e)
		}
		d.Streams.drop(at)
	case "usage":
		if at >= 0 && !open.Silent {
			w.EmitUsage(of, e.usage)
		}
	case "error":
		d.Streams.drop(at)
		of.Kind, of.Text = chunks.Failure, w.Text(e.message)
		w.Emit(of)
	case "provider", "raw": // the events of the provider, which the others repeat
	default:
		w.Unknown("messages event", e.event.Str, data)
	}
	return nil
}

// callOf reports whether an event is one of a call.
func callOf(e protocolData) bool {
	kind := e.content.Member("type").Str + e.delta.Member("type").Str + e.delta.Member("fields").Member("type").Str
	return strings.Contains(kind, "tool_call") || strings.Contains(kind, "tool_use") || kind == "tool-call-delta"
}

// protocolStart begins a message. The message of a tool contains a result, which the
// tools channel contains too. A human message interrupts; that of a subagent is its
// task and does not.
func (d *decoder) protocolStart(w *wire.Writer, ns string, e protocolData) {
	d.Messages.Live = true
	id, role := w.Text(e.id), e.role.Str
	if id == "" {
		id = w.Text(e.run)
	}
	human := (role == "human" || role == "user") && !strings.Contains(ns, "|")
	d.Streams.begin(protocolOpen{
		Namespace: ns, Run: w.Text(e.run), ID: id, Call: w.Text(e.call),
		Silent: role != "" && role != "ai" && role != "assistant", Human: human,
	})
	switch {
	case human:
		w.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: ns, ID: id})
	case role == "", role == "ai", role == "assistant":
		d.Messages.stream(ns, id, hasText)
		w.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: ns, Message: id, Role: "assistant"})
	}
}

// protocolBlock begins a block. The blocks of parallel calls can be open at a time.
func (d *decoder) protocolBlock(w *wire.Writer, of chunks.Chunk, open *protocolOpen, e protocolData) *wire.Problem {
	if !e.content.IsObject() {
		return wire.WrongType("content of content-block-start", e.content, "an object")
	}
	if open.Silent {
		d.humanText(w, open, readBlock(e.content).text)
		return nil
	}
	n := w.Len()
	open.Block, open.Streamed = d.protocolContent(w, of, e.index, e.content), false
	for _, c := range w.Since(n) {
		open.Streamed = open.Streamed || c.Text != "" || c.Args != ""
	}
	return nil
}

func (d *decoder) humanText(w *wire.Writer, m *protocolOpen, text jsonscan.Value) {
	if !m.Human {
		return
	}
	if s := w.Text(text); s != "" {
		w.Emit(chunks.Chunk{Kind: chunks.HumanText, Namespace: m.Namespace, ID: m.ID, Text: s})
		m.Streamed = true
	}
}

// protocolContent emits the beginning of a block, or a piece of a block. It reports
// whether the block is a call.
func (d *decoder) protocolContent(w *wire.Writer, of chunks.Chunk, index, block jsonscan.Value) bool {
	b := readBlock(block)
	switch b.kind.Str {
	case "text":
		of.Kind, of.Text = chunks.Text, w.Text(b.text)
	case "reasoning", "thinking":
		of.Kind, of.Text = chunks.Reasoning, w.Text(b.thought)
	case "tool_call_chunk", "tool_call", "tool_use", "server_tool_call_chunk", "server_tool_call", "server_tool_use", "mcp_tool_use":
		d.protocolCall(w, of, index, b)
		return true
	case "server_tool_result": // its end has the result
	default:
		w.Unknown("content block", b.kind.Str, block)
	}
	if of.Part = index.Int(); of.Text != "" {
		w.Emit(of)
	}
	return false
}

// protocolCall emits the beginning of a call or a piece of it. Args have precedence over
// an input that is an object.
func (d *decoder) protocolCall(w *wire.Writer, of chunks.Chunk, index jsonscan.Value, b blockFields) {
	d.noArgs(w, &b)
	of.Kind, of.Index = chunks.Fragment, wire.RawIndex(index)
	of.ID, of.Name = w.Text(b.id), w.Text(b.name)
	of.Final = of.ID != "" && of.Name != ""
	if b.kind.Str != "tool_call" && b.kind.Str != "tool_call_chunk" && b.kind.Str != "tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	switch {
	case b.args.IsString():
		of.Args = w.Text(b.args)
	case b.args.IsObject():
		of.Args, of.Object, of.Weak = w.Compact(b.args.Raw), true, true
	case b.input.IsObject():
		of.Args, of.Object, of.Weak = w.Compact(b.input.Raw), true, true
	}
	if of.Object && of.Args == "{}" {
		of.Args, of.Object, of.Weak = "", false, false
	}
	w.EmitCall(of)
}

// protocolDelta emits a piece of a block. The fragments of the provider
// (input_json_delta) repeat the args beside them and are not read.
func (d *decoder) protocolDelta(w *wire.Writer, of chunks.Chunk, open *protocolOpen, e protocolData) *wire.Problem {
	if !e.delta.Present() && e.content.IsObject() && !open.Silent { // of older versions
		d.protocolContent(w, of, e.index, e.content)
		open.Streamed = open.Streamed || w.Len() > 0
		return nil
	}
	if !e.delta.IsObject() {
		return wire.WrongType("delta of content-block-delta", e.delta, "an object")
	}
	if open.Silent {
		d.humanText(w, open, e.delta.Member("text"))
		return nil
	}
	var kind, text, fields, args jsonscan.Value
	e.delta.Read(kind.From("type"), text.From("text"), text.From("reasoning"), fields.From("fields"), args.From("args"))
	of.Part = e.index.Int()
	switch kind.Str {
	case "text-delta":
		of.Kind = chunks.Text
		w.EmitText(of, text)
	case "reasoning-delta":
		of.Kind = chunks.Reasoning
		w.EmitText(of, text)
	case "tool-call-delta":
		if !args.IsString() {
			return wire.WrongType("args of tool-call-delta", args, "a string")
		}
		of.Kind, of.Part, of.Index, of.Args = chunks.Fragment, 0, wire.RawIndex(e.index), w.Text(args)
		w.EmitCall(of)
	case "block-delta":
		of.Part = 0
		f := readBlock(fields)
		switch kind := f.kind.Str; {
		case strings.Contains(kind, "tool_call"):
			d.protocolCall(w, of, e.index, f)
		case kind != "input_json_delta":
			w.Unknown("block-delta", kind, fields)
		}
	case "input_json_delta":
	default:
		w.Unknown("delta", kind.Str, e.delta)
	}
	open.Streamed = open.Streamed || w.Len() > 0
	return nil
}

// protocolBlockEnd ends a block. Its content has precedence over what was streamed.
func (d *decoder) protocolBlockEnd(w *wire.Writer, of chunks.Chunk, open *protocolOpen, e protocolData) *wire.Problem {
	if !e.content.IsObject() {
		return wire.WrongType("content of content-block-finish", e.content, "an object")
	}
	b := readBlock(e.content)
	if open.Silent {
		if !open.Streamed {
			d.humanText(w, open, b.text)
		}
		open.Block, open.Streamed = false, false
		if open.Call != "" && b.kind.Str == "text" && !d.Streams.Failed.Has(open.Call) {
			w.Emit(chunks.Chunk{Kind: chunks.Result, Namespace: of.Namespace, ID: open.Call, Status: "success", Text: w.Text(b.text)})
		}
		return nil
	}
	switch kind := b.kind.Str; kind {
	case "text", "reasoning", "thinking":
		if open.ID != "" && !open.Streamed {
			d.protocolContent(w, of, e.index, e.content)
		}
		of.Kind, of.Part = chunks.PartEnd, e.index.Int()
		w.Emit(of)
	case "invalid_tool_call":
		// The args are not JSON. The finish reason shows whether the answer is
		// truncated.
		if !open.Streamed {
			d.protocolCall(w, of, e.index, blockFields{kind: jsonscan.Value{Str: "tool_call"}, id: b.id, name: b.name, args: b.args})
		}
	case "server_tool_result":
		d.protocolServerResult(w, of, e.content)
	case "tool_call", "tool_call_chunk", "tool_use", "server_tool_call", "server_tool_call_chunk", "server_tool_use", "mcp_tool_use", "input_json_delta":
		d.protocolCallEnd(w, of, open.Block, e.index, b)
	default:
		if strings.HasSuffix(kind, "tool_result") {
			_ = w.ToolResult(of, wire.ReadResult(e.content))
		} else {
			w.Unknown("content block", kind, e.content)
		}
	}
	return nil
}

// protocolCallEnd emits a whole call. In the blocks of LangChain JS input is the last
// fragment, and args is the whole text. If begun is true, the beginning of the call
// was emitted.
func (d *decoder) protocolCallEnd(w *wire.Writer, of chunks.Chunk, begun bool, index jsonscan.Value, b blockFields) {
	d.noArgs(w, &b)
	of.Kind, of.Index, of.Whole = chunks.Fragment, wire.RawIndex(index), true
	of.ID, of.Name = w.Text(b.id), w.Text(b.name)
	if strings.HasPrefix(b.kind.Str, "server_") || b.kind.Str == "mcp_tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	if !b.args.Present() && b.input.IsObject() {
		b.args = b.input
	}
	if of.Args = w.Text(b.args); b.args.IsObject() {
		of.Args, of.Object = w.Compact(b.args.Raw), true
	}
	if of.ID != "" {
		of.Final = of.Name != ""
		w.Emit(of)
		return
	}
	// A call without an id is matched by its index.
	of.Whole, of.Weak = false, of.Object
	if begun {
		of.Name = ""
	}
	if of.Object {
		w.Emit(of)
	}
	w.Emit(chunks.Chunk{Kind: chunks.Seal, Namespace: of.Namespace, Message: of.Message, Index: of.Index})
}

// protocolServerResult emits {"tool_call_id","status","output"}.
func (d *decoder) protocolServerResult(w *wire.Writer, of chunks.Chunk, block jsonscan.Value) {
	var id, status, output jsonscan.Value
	block.Read(id.From("tool_call_id"), id.From("toolCallId"), status.From("status"), output.From("output"))
	of.Kind, of.ID, of.Status = chunks.Result, w.Text(id), "success"
	if status.Str == "error" {
		of.Status = "error"
	}
	if of.Content, of.Text = w.ContentOf(output); of.ID != "" {
		w.Emit(of)
	}
}

func (d *decoder) protocolFinish(w *wire.Writer, of chunks.Chunk, e protocolData) {
	d.Messages.done(of.Namespace, of.Message)
	reason := w.Text(e.reason)
	c := of
	c.Kind, c.Reason, c.Truncated, c.Restated = chunks.Finish, reason, truncates(reason), chunks.RestatedSoon
	w.Emit(c)
	w.EmitUsage(of, e.usage)
	of.Kind = chunks.Ended
	w.Emit(of)
}
