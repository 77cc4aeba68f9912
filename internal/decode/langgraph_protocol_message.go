package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// protocolData is what matters of the data of a messages event.
type protocolData struct {
	event, run, id, role, call, index, content, delta, reason, usage, message gjson.Result
}

func protocolFields(data gjson.Result) (d protocolData) {
	for m := members(data); m.next(); {
		switch m.key {
		case "event":
			d.event = m.value
		case "run_id", "runId":
			d.run = m.value
		case "id":
			d.id = m.value
		case "role":
			d.role = m.value
		case "tool_call_id", "toolCallId":
			d.call = m.value
		case "index":
			d.index = m.value
		case "content":
			d.content = m.value
		case "delta":
			d.delta = m.value
		case "reason":
			d.reason = m.value
		case "usage":
			d.usage = m.value
		case "message":
			d.message = m.value
		}
	}
	return d
}

// protocolMessage reads an event of a message. Only its start names the
// message; the others are of the one that is open in their namespace and run.
func (r *Reader) protocolMessage(ns string, data gjson.Result) *Problem {
	d := protocolFields(data)
	mem := partOf(&r.mem.Protocol)
	if d.event.Str == "message-start" {
		r.protocolStart(ns, d)
		return nil
	}
	at := mem.find(ns, r.text(d.run))
	var open protocolOpen
	if at >= 0 {
		open = mem.Open[at]
	}
	of := chunks.Chunk{Namespace: ns, Message: open.ID}
	switch d.event.Str {
	case "content-block-start":
		return r.protocolBlock(of, at, d)
	case "content-block-delta":
		return r.protocolDelta(of, at, d)
	case "content-block-finish":
		return r.protocolBlockEnd(of, open, d)
	case "message-finish":
		mem.drop(at)
		if !open.Silent {
			r.protocolFinish(of, d)
		}
	case "usage":
		if at >= 0 && !open.Silent && isObject(d.usage) {
			of.Kind, of.Usage = chunks.Usage, d.usage.Raw
			r.emit(of)
		}
	case "error":
		mem.drop(at)
		of.Kind, of.Text = chunks.Failure, r.text(d.message)
		r.emit(of)
	}
	return nil // what the provider sent, and what is not known yet
}

// protocolStart begins a message. Those of tools carry results, which the
// tools channel tells too; of people, they interrupt.
func (r *Reader) protocolStart(ns string, d protocolData) {
	id, role := r.text(d.id), d.role.Str
	if id == "" {
		id = r.text(d.run)
	}
	partOf(&r.mem.Protocol).begin(protocolOpen{
		Namespace: ns, Run: r.text(d.run), ID: id, Call: r.text(d.call),
		Silent: role != "" && role != "ai" && role != "assistant",
	})
	switch role {
	case "", "ai", "assistant":
		partOf(&r.mem.LangChain).stream(ns, id, langSaid{text: true})
		r.emit(chunks.Chunk{Kind: chunks.Start, Namespace: ns, Message: id, Role: "assistant"})
	case "human", "user":
		if !strings.Contains(ns, "|") { // else it is what a subagent is given to do
			r.emit(chunks.Chunk{Kind: chunks.Human, Namespace: ns, ID: id})
		}
	}
}

// protocolBlock begins a block. Blocks follow each other, so the call before
// it is complete, even where its finish was lost.
func (r *Reader) protocolBlock(of chunks.Chunk, at int, d protocolData) *Problem {
	if !isObject(d.content) {
		return wrongType("content of content-block-start", d.content, "an object")
	}
	mem := partOf(&r.mem.Protocol)
	if at >= 0 {
		if mem.Open[at].Silent {
			return nil
		}
		if mem.Open[at].Block {
			of := of
			of.Kind, of.Index = chunks.Next, rawIndex(d.index)
			r.emit(of)
		}
	}
	n := len(r.out)
	call := r.protocolContent(of, d.index, d.content)
	said := false
	for _, c := range r.out[n:] {
		said = said || c.Text != "" || c.Args != ""
	}
	mem.block(at, call, said)
	return nil
}

// protocolContent emits the beginning of a block, or a piece of one, and tells
// whether it is a call. An input that is an object gives way to args.
func (r *Reader) protocolContent(of chunks.Chunk, index, block gjson.Result) bool {
	b := langBlockMembers(block)
	switch b.kind.Str {
	case "text":
		of.Kind, of.Text = chunks.Text, r.text(b.text)
	case "reasoning", "thinking":
		of.Kind, of.Text = chunks.Reasoning, r.text(b.thought)
	case "tool_call_chunk", "tool_call", "tool_use", "server_tool_call_chunk", "server_tool_call", "server_tool_use", "mcp_tool_use":
		r.protocolCall(of, index, b)
		return true
	}
	if of.Part = integer(index); of.Text != "" {
		r.emit(of)
	}
	return false
}

func (r *Reader) protocolCall(of chunks.Chunk, index gjson.Result, b langBlockFields) {
	of.Kind, of.Index = chunks.Fragment, rawIndex(index)
	of.ID, of.Name = r.text(b.id), r.text(b.name)
	of.Final = of.ID != "" && of.Name != ""
	if b.kind.Str != "tool_call" && b.kind.Str != "tool_call_chunk" && b.kind.Str != "tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	switch {
	case isString(b.args):
		of.Args = r.text(b.args)
	case isObject(b.args):
		of.Args, of.Object, of.Weak = r.compact(b.args.Raw), true, true
	case isObject(b.input):
		of.Args, of.Object, of.Weak = r.compact(b.input.Raw), true, true
	}
	if of.Object && of.Args == "{}" {
		of.Args, of.Object, of.Weak = "", false, false
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		r.emit(of)
	}
}

// protocolDelta reads a piece of a block. The provider's own fragments
// (input_json_delta) say again what the args beside them do.
func (r *Reader) protocolDelta(of chunks.Chunk, at int, d protocolData) *Problem {
	if !isObject(d.delta) {
		return wrongType("delta of content-block-delta", d.delta, "an object")
	}
	if at >= 0 && partOf(&r.mem.Protocol).Open[at].Silent {
		return nil
	}
	var kind, text, fields gjson.Result
	for m := members(d.delta); m.next(); {
		switch m.key {
		case "type":
			kind = m.value
		case "text", "reasoning":
			text = m.value
		case "fields":
			fields = m.value
		}
	}
	of.Part = integer(d.index)
	switch kind.Str {
	case "text-delta", "reasoning-delta":
		of.Kind = chunks.Text
		if kind.Str == "reasoning-delta" {
			of.Kind = chunks.Reasoning
		}
		if of.Text = r.text(text); of.Text != "" {
			r.emit(of)
		}
	case "block-delta":
		of.Part = 0
		if f := langBlockMembers(fields); strings.Contains(f.kind.Str, "tool_call") {
			r.protocolCall(of, d.index, f)
		}
	}
	if len(r.out) > 0 {
		partOf(&r.mem.Protocol).said(at)
	}
	return nil
}

// protocolBlockEnd ends a block; what it came to wins over what was streamed.
func (r *Reader) protocolBlockEnd(of chunks.Chunk, open protocolOpen, d protocolData) *Problem {
	if !isObject(d.content) {
		return wrongType("content of content-block-finish", d.content, "an object")
	}
	b := langBlockMembers(d.content)
	if open.Silent {
		if open.Call != "" && b.kind.Str == "text" && !partOf(&r.mem.Protocol).answered(open.Call) {
			r.emit(chunks.Chunk{Kind: chunks.Result, Namespace: of.Namespace, ID: open.Call, Status: "success", Text: r.text(b.text)})
		}
		return nil
	}
	switch kind := b.kind.Str; kind {
	case "text", "reasoning", "thinking":
		if open.ID != "" && !open.Said {
			r.protocolContent(of, d.index, d.content)
		}
		of.Kind, of.Part = chunks.PartEnd, integer(d.index)
		r.emit(of)
	case "invalid_tool_call":
		// The args are no JSON; whether because the model was cut off, the
		// reason of the message tells.
		if !open.Said {
			r.protocolCall(of, d.index, langBlockFields{kind: gjson.Result{Str: "tool_call"}, id: b.id, name: b.name, args: b.args})
		}
	case "server_tool_result":
		r.protocolServerResult(of, d.content)
	default:
		switch {
		case strings.HasSuffix(kind, "tool_result"):
			r.langBlockResult(of, d.content)
		case strings.Contains(kind, "tool_") || kind == "input_json_delta":
			r.protocolCallEnd(of, open.Block, d.index, b)
		}
	}
	return nil
}

// protocolCallEnd emits a whole call. What LangChain JS makes of a provider's
// block has the last fragment as input and the whole text as args. begun says
// that the call's beginning was seen.
func (r *Reader) protocolCallEnd(of chunks.Chunk, begun bool, index gjson.Result, b langBlockFields) {
	of.Kind, of.Index, of.Whole = chunks.Fragment, rawIndex(index), true
	of.ID, of.Name = r.text(b.id), r.text(b.name)
	if strings.HasPrefix(b.kind.Str, "server_") || b.kind.Str == "mcp_tool_use" {
		of.CallKind, of.Provider = "server", true
	}
	if !present(b.args) && isObject(b.input) {
		b.args = b.input
	}
	if of.Args = r.text(b.args); isObject(b.args) {
		of.Args, of.Object = r.compact(b.args.Raw), true
	}
	if of.ID != "" {
		of.Final = of.Name != ""
		r.emit(of)
		return
	}
	// Without an id it cannot be matched but by its place.
	of.Whole, of.Weak = false, of.Object
	if begun {
		of.Name = ""
	}
	if of.Object {
		r.emit(of)
	}
	r.emit(chunks.Chunk{Kind: chunks.Seal, Namespace: of.Namespace, Message: of.Message, Index: of.Index})
}

// protocolServerResult emits {"tool_call_id","status","output"}.
func (r *Reader) protocolServerResult(of chunks.Chunk, block gjson.Result) {
	of.Kind, of.Status = chunks.Result, "success"
	for m := members(block); m.next(); {
		switch m.key {
		case "tool_call_id", "toolCallId":
			of.ID = r.text(m.value)
		case "status":
			if m.value.Str == "error" {
				of.Status = "error"
			}
		case "output":
			if of.Text = r.text(m.value); m.value.Type == gjson.JSON {
				of.Content = r.compact(m.value.Raw)
			}
		}
	}
	if of.ID != "" {
		r.emit(of)
	}
}

func (r *Reader) protocolFinish(of chunks.Chunk, d protocolData) {
	partOf(&r.mem.LangChain).done(of.Namespace, of.Message)
	reason := r.text(d.reason)
	c := of
	c.Kind, c.Reason, c.Truncated = chunks.Finish, reason, langTruncates(reason)
	r.emit(c)
	if isObject(d.usage) {
		c = of
		c.Kind, c.Usage = chunks.Usage, d.usage.Raw
		r.emit(c)
	}
	of.Kind = chunks.Ended
	r.emit(of)
}
