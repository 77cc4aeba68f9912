package cohere

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) wholeAnswer(w *wire.Writer, id string, message, end jsonscan.Value) {
	d.Message = wire.Keep(id)
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
	d.emitText(w, chunks.Reasoning, 0, message.Member("tool_plan"))
	part := 0
	for e := message.Member("content").Elements(); e.Next(); part++ {
		d.emitText(w, chunks.Reasoning, part, e.Value.Member("thinking"))
		d.emitText(w, chunks.Text, part, e.Value.Member("text"))
	}
	for e := message.Member("tool_calls").Elements(); e.Next(); {
		w.OpenAICall(wire.Choice{Message: d.Message, Whole: true}, e.Value)
	}
	w.UnknownMembers("the message", message, "content", "tool_plan", "tool_calls", "citations")
	d.endMessage(w, end)
}

func (d *decoder) emitText(w *wire.Writer, kind chunks.Kind, part int, v jsonscan.Value) {
	w.EmitText(chunks.Chunk{Kind: kind, Message: d.Message, Part: part}, v)
}

func (d *decoder) toolCall(w *wire.Writer, index, call jsonscan.Value, begins bool) *wire.Problem {
	if e := call.Elements(); e.Next() { // servers that imitate Cohere send a list of one
		call = e.Value
	}
	if !call.IsObject() {
		return wire.WrongType("delta.message.tool_calls", call, "an object")
	}
	var id, function, name, args jsonscan.Value
	w.ReadKnown("delta.message.tool_calls", call, id.From("id"), function.From("function"))
	w.ReadKnown("delta.message.tool_calls.function", function, name.From("name"), args.From("arguments"))
	w.EmitCall(chunks.Chunk{
		Kind: chunks.Fragment, Message: d.Message, Index: index.Raw,
		ID: w.Text(id), Name: w.Text(name), Args: w.Text(args), Final: begins, Opens: begins, Exact: !begins,
	})
	return nil
}

// endMessage emits the end of a message. The finish reasons ERROR, ERROR_LIMIT and
// the like, and TIMEOUT are failures of the provider, which end the run.
func (d *decoder) endMessage(w *wire.Writer, delta jsonscan.Value) {
	var finish, usage, failure jsonscan.Value
	delta.Read(finish.From("finish_reason"), usage.From("usage"), failure.From("error"))
	message := d.Message
	reason := w.Text(finish)
	if usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: message, Usage: usage.Raw})
	}
	switch {
	case failure.Present():
		w.FailRun(message, w.FailureText(failure))
		return
	case strings.HasPrefix(reason, "ERROR"), reason == "TIMEOUT":
		w.FailRun(message, "the finish reason is "+reason)
		return
	case reason != "":
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: reason, Truncated: reason == "MAX_TOKENS"})
	}
	w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
}
