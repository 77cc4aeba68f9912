package vercelui

import (
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// start begins a stream. Where several streams are merged into one, start repeats:
// a start of the same message in mid-stream begins no message.
func (d *decoder) start(w *wire.Writer, e *event) {
	id := w.Text(e.message)
	if d.Open && (id == "" || id == d.Message) {
		if d.Steps > 0 {
			d.Others++
		}
		return
	}
	*d = d.next(wire.Keep(id))
	d.Open = true
	w.Emit(chunks.Chunk{Kind: chunks.RunStart})
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
}

// startStep begins a step. The start of the stream has begun the first one.
func (d *decoder) startStep(w *wire.Writer) {
	d.Steps++
	if len(d.Inputs) > 0 {
		return
	}
	if d.Stepped {
		w.Emit(d.finishChunk(""))
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: d.Message})
	}
	if d.Stepped || !d.Open {
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
	}
	d.Open, d.Stepped, d.Parts = true, true, nil
}

func (d *decoder) finishStep(w *wire.Writer, e *event) {
	d.Steps = max(d.Steps-1, 0)
	if !d.merged(e) {
		d.Inputs = nil
		if e.finish.IsString() {
			w.Emit(d.finishChunk(w.Text(e.finish)))
		}
	}
	if e.usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: d.Message, Usage: w.Compact(e.usage.Raw)})
	}
	if e.finish.Str == interrupted { // a model's own stream has no other end
		*d = d.next(d.Message)
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: cutText})
	}
}

// merged reports whether the end of a step or a stream is that of another stream than
// the one with the input of a call that is on its way: more were open. One that was cut
// off ends it.
func (d *decoder) merged(e *event) bool {
	reason := e.finish.Str
	return d.Steps+d.Others > 0 && len(d.Inputs) > 0 && (reason == "" || reason == "stop" || reason == "tool-calls")
}

// interrupted is the finish reason of a provider's stream that ended without its end. The
// run is over: no tool is started, and the SDK does not go on.
const interrupted = "interrupted"

const cutText = "the stream of the provider was interrupted"

// finishChunk returns the end of the answer in a step. It is Truncated with any
// reason: a call without tool-input-available is complete only if its args are whole
// JSON.
func (d *decoder) finishChunk(reason string) chunks.Chunk {
	return chunks.Chunk{Kind: chunks.Finish, Message: d.Message, Reason: reason, Truncated: true}
}

// finish ends a stream. The usage of finish is the sum over all steps and belongs to
// no message, so it is not used.
func (d *decoder) finish(w *wire.Writer, e *event) {
	if d.merged(e) {
		d.Others = max(d.Others-1, 0)
		return
	}
	w.Emit(d.finishChunk(w.Text(e.finish)))
	end := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	switch {
	case e.finish.Str == "error":
		end.Status = "error"
	case e.finish.Str == interrupted:
		end.Status, end.Text = "cancelled", cutText
	case slices.ContainsFunc(d.Asks, func(a Ask) bool { return !a.Automatic }):
		end.Status = "interrupted"
	}
	*d = d.next("")
	w.Emit(end)
}

type event struct {
	kind, message, id, call, name, delta, input, output, failure, finish, usage, reason jsonscan.Value
	approval, approved, automatic, encoding, executed, preliminary, toolCall, parts     jsonscan.Value
	text, failed, path                                                                  jsonscan.Value // errorText; isError of Mastra
	mastra                                                                              bool
}

// read reads the members of an event. The names of version 4 become those of
// version 5.
func (e *event) read(f wire.Frame) {
	var payload, from jsonscan.Value
	f.Read(
		e.kind.From("type"), e.message.From("messageId"), e.id.From("id"), e.call.From("toolCallId"), e.name.From("toolName"),
		e.delta.From("delta"), e.delta.From("inputTextDelta"), e.delta.From("text"), e.delta.From("argsTextDelta"),
		e.input.From("input"), e.input.From("args"), e.output.From("output"), e.output.From("result"),
		e.text.From("errorText"), e.failure.From("error"), e.finish.From("finishReason"),
		e.usage.From("usage"), e.usage.From("totalUsage"), e.reason.From("reason"),
		e.approval.From("approvalId"), e.automatic.From("isAutomatic"), e.encoding.From("inputEncoding"),
		e.executed.From("providerExecuted"), e.preliminary.From("preliminary"),
		e.approved.From("approved"), e.toolCall.From("toolCall"), e.parts.From("parts"),
		payload.From("payload"), from.From("from"), e.path.From("path"),
	)
	if e.mastra = payload.IsObject() && from.IsString(); e.mastra {
		e.readPayload(payload)
	}
	e.kind = currentKind(e.kind)
	if e.text.Raw != "" {
		e.failure = e.text
	}
}

// readPayload reads the members of a part of Mastra. An approval has no id of its own.
func (e *event) readPayload(v jsonscan.Value) {
	var step, output jsonscan.Value
	v.Read(
		e.message.From("messageId"), e.id.From("id"), e.call.From("toolCallId"), e.name.From("toolName"),
		e.delta.From("text"), e.delta.From("argsTextDelta"), e.input.From("args"), e.output.From("result"), e.failed.From("isError"),
		e.failure.From("error"), e.reason.From("reason"), e.executed.From("providerExecuted"), step.From("stepResult"), output.From("output"),
	)
	e.approval = e.call
	e.finish, e.usage = step.Member("reason"), output.Member("usage")
}

// currentKind returns the name in version 5 of an event type of version 4 or of Mastra.
func currentKind(v jsonscan.Value) jsonscan.Value {
	switch v.Str {
	case "tool-call-streaming-start", "tool-call-input-streaming-start":
		v.Str = "tool-input-start"
	case "tool-call-input-streaming-end":
		v.Str = "tool-input-end"
	case "tool-call-approval":
		v.Str = "tool-approval-request"
	case "tool-call-delta":
		v.Str = "tool-input-delta"
	case "step-start":
		v.Str = "start-step"
	case "step-finish":
		v.Str = "finish-step"
	}
	return v
}
