package pi

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) update(w *wire.Writer, v jsonscan.Value) {
	var kind, index, delta, call, partial, id, name jsonscan.Value
	v.Read(
		kind.From("type"), index.From("contentIndex"), delta.From("delta"), call.From("toolCall"), partial.From("partial"),
		id.From("id"), name.From("toolName"),
	)
	if !d.Open {
		d.begin(w)
	}
	switch kind.Str {
	case "text_delta", "thinking_delta":
		c := chunks.Chunk{Kind: chunks.Text, Part: index.Int()}
		if kind.Str == "thinking_delta" {
			c.Kind = chunks.Reasoning
		}
		d.Streams = true
		w.EmitText(c, delta)
	case "text_end", "thinking_end":
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: index.Int()})
	case "toolcall_start":
		c := chunks.Chunk{Kind: chunks.Fragment, Index: wire.RawIndex(index), Opens: true}
		if c.ID, c.Name = w.Text(id), w.Text(name); c.ID == "" {
			c.ID, c.Name = begun(w, partial, index.Int())
		}
		c.Final = c.ID != ""
		d.Calls.AddNew(c.ID, maxCalls)
		d.Calling = true
		w.EmitCall(c)
	case "toolcall_delta":
		if text := w.Text(delta); text != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Fragment, Index: wire.RawIndex(index), Args: text, Exact: true})
		}
	case "toolcall_end":
		if d.Calling = false; call.IsObject() {
			d.call(w, wire.RawIndex(index), call, false)
		}
	case "start", "text_start", "thinking_start", "done", "error":
	default:
		if d.Calling && delta.IsString() {
			w.UnknownCall("assistantMessageEvent", kind.Str, "delta")
		}
		w.Unknown("assistantMessageEvent", kind.Str, v)
	}
}

func begun(w *wire.Writer, partial jsonscan.Value, index int) (id, name string) {
	i := 0
	for e := partial.Member("content").Elements(); e.Next(); i++ {
		if i == index {
			var callID, callName jsonscan.Value
			e.Value.Read(callID.From("id"), callName.From("name"))
			return w.Text(callID), w.Text(callName)
		}
	}
	return "", ""
}

// call emits a call, complete if pi runs it. Where its args are no JSON, the error has their text.
func (d *decoder) call(w *wire.Writer, index string, v jsonscan.Value, runs bool) {
	var id, name, args, failure, rest jsonscan.Value
	w.ReadKnown("toolCall", v,
		rest.From("type"), id.From("id"), name.From("name"), args.From("arguments"), args.From("input"), rest.From("thoughtSignature"),
		failure.From("argumentsError"), rest.From("namespace"))
	c := chunks.Chunk{Kind: chunks.Fragment, Index: index, ID: w.Text(id), Name: w.Text(name), Final: true}
	_, raw, malformed := strings.Cut(w.Text(failure), "\n\nReceived arguments:\n")
	switch {
	case malformed:
		c.Args, c.Whole = raw, true
		w.EmitWhole(c)
	case failure.Present():
		w.Emit(c)
	case runs:
		d.whole(w, c, name, args)
	default:
		w.SetArgs(&c, args)
		c.Weak = c.Object
		w.Emit(c)
	}
	d.Calls.AddNew(c.ID, maxCalls)
}

// message reads a whole message, of an event or of a session file. The result of a call is in
// one as well.
func (d *decoder) message(w *wire.Writer, v jsonscan.Value, entry bool) {
	var role, content, stop, failure, usage, call, failed, nested jsonscan.Value
	v.Read(
		role.From("role"), content.From("content"), stop.From("stopReason"), failure.From("errorMessage"), usage.From("usage"),
		call.From("toolCallId"), failed.From("isError"), nested.From("nestedCalls"),
	)
	switch role.Str {
	case "user":
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.PlainText(content), Aside: !entry})
	case "toolResult":
		if !d.Runs {
			d.nested(w, w.Text(call), nested.Member("calls"))
		}
		if id := w.Text(call); d.Calls.Has(id) || entry {
			d.result(w, id, content, failed)
		}
	case "assistant":
		if !d.Open {
			d.begin(w)
		}
		d.Open, d.Stop, d.Failure = false, wire.Keep(w.Text(stop)), wire.Keep(w.Text(failure))
		cut := d.Stop == "length" || d.Stop == "error" || d.Stop == "aborted"
		d.content(w, content, !cut)
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: d.Stop, Truncated: cut, Abandons: cut})
		w.EmitUsage(chunks.Chunk{}, usage)
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	case "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary", "system":
	default:
		w.Unknown("message", role.Str, v)
	}
}

// content emits the calls of a whole message, and its texts unless they were streamed.
func (d *decoder) content(w *wire.Writer, content jsonscan.Value, runs bool) {
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		c := chunks.Chunk{Kind: chunks.Text, Part: i}
		switch kind := wire.TypeOf(e.Value); kind {
		case "toolCall":
			d.call(w, strconv.Itoa(i), e.Value, runs)
			continue
		case "thinking":
			c.Kind = chunks.Reasoning
		case "text":
		default:
			w.Unknown("content block", kind, e.Value)
			continue
		}
		if !d.Streams {
			w.EmitText(c, e.Value.Member(wire.TypeOf(e.Value)))
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: i})
		}
	}
}

// nested emits the calls that the tool of a call has made: {"id","name","arguments","status"}.
// They have no results, and those with long args have no args.
func (d *decoder) nested(w *wire.Writer, parent string, list jsonscan.Value) {
	for e := list.Elements(); e.Next(); {
		var id, name, args, status, failure, rest jsonscan.Value
		w.ReadKnown("the nested call", e.Value,
			id.From("id"), name.From("name"), args.From("arguments"), rest.From("argumentsBytes"), status.From("status"), failure.From("error"))
		c := chunks.Chunk{Kind: chunks.Fragment, ID: w.Text(id), Name: w.Text(name), ParentCall: parent, Final: true}
		if w.SetArgs(&c, args); c.Object {
			w.EmitWhole(c)
		} else {
			w.Emit(c)
		}
		w.Emit(chunks.Chunk{Kind: chunks.Result, ID: c.ID, Text: w.Text(failure), Status: map[string]string{"error": "error"}[status.Str]})
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Truncated: true})
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	}
}
