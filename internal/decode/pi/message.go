package pi

import (
	"strconv"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) update(w *wire.Writer, v jsonscan.Value) {
	var kind, index, delta, call, partial jsonscan.Value
	v.Read(kind.From("type"), index.From("contentIndex"), delta.From("delta"), call.From("toolCall"), partial.From("partial"))
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
		c.ID, c.Name = begun(w, partial, index.Int())
		c.Final = c.ID != ""
		d.Calls.AddNew(c.ID, maxCalls)
		d.Calling = true
		w.EmitCall(c)
	case "toolcall_delta":
		if text := w.Text(delta); text != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Fragment, Index: wire.RawIndex(index), Args: text, Exact: true})
		}
	case "toolcall_end":
		d.Calling = false
		if call.IsObject() {
			d.call(w, wire.RawIndex(index), call)
		} else {
			w.Emit(chunks.Chunk{Kind: chunks.Seal, Index: wire.RawIndex(index)})
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

func (d *decoder) call(w *wire.Writer, index string, v jsonscan.Value) {
	var id, name, args, kind jsonscan.Value
	w.ReadKnown("toolCall", v, kind.From("type"), id.From("id"), name.From("name"), args.From("arguments"), kind.From("thoughtSignature"))
	d.whole(w, chunks.Chunk{Index: index, ID: w.Text(id)}, name, args)
}

// message reads a whole message. The result of a call is in one as well.
func (d *decoder) message(w *wire.Writer, v jsonscan.Value) {
	var role, content, stop, failure, usage, call, failed jsonscan.Value
	v.Read(
		role.From("role"), content.From("content"), stop.From("stopReason"), failure.From("errorMessage"), usage.From("usage"),
		call.From("toolCallId"), failed.From("isError"),
	)
	switch role.Str {
	case "user":
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.PlainText(content), Aside: true})
	case "toolResult":
		if id := w.Text(call); d.Calls.Has(id) {
			d.result(w, id, content, failed)
		}
	case "assistant":
		if !d.Open {
			d.begin(w)
		}
		d.content(w, content)
		d.Open, d.Stop = false, wire.Keep(w.Text(stop))
		d.Failure = wire.Keep(w.Text(failure))
		cut := d.Stop == "length" || d.Stop == "error" || d.Stop == "aborted"
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: d.Stop, Truncated: cut})
		w.EmitUsage(chunks.Chunk{}, usage)
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	case "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary", "system":
	default:
		w.Unknown("message", role.Str, v)
	}
}

// content emits the calls of a whole message, and its texts unless they were streamed.
func (d *decoder) content(w *wire.Writer, content jsonscan.Value) {
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		c := chunks.Chunk{Kind: chunks.Text, Part: i}
		switch kind := wire.TypeOf(e.Value); kind {
		case "toolCall":
			d.call(w, strconv.Itoa(i), e.Value)
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
