package aisdk4

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startStep begins a step, {"messageId"}. Steps that continue an answer have the same
// id.
func (d *decoder) startStep(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	id := v.Member("messageId")
	if !id.IsString() {
		return wire.WrongType("messageId", id, "a string")
	}
	if d.Open { // the end of the last step was lost
		d.endStep(w, "", jsonscan.Value{})
	}
	d.Message = wire.Keep(w.Text(id))
	d.begin(w)
	return nil
}

// begin begins a step, unless one is open: some servers send only content.
func (d *decoder) begin(w *wire.Writer) {
	if d.Open {
		return
	}
	d.Open, d.Run, d.Failed, d.Failure = true, true, false, ""
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
}

// endStep emits the end of the message of the step. It is Truncated with any reason,
// because the line 9 completes calls, and the end of the step does not.
func (d *decoder) endStep(w *wire.Writer, reason string, usage jsonscan.Value) {
	id := d.Message
	if usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: id, Usage: w.Compact(usage.Raw)})
	}
	if d.Failed {
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: id, Text: d.Failure})
	} else {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: id, Reason: reason, Truncated: true})
	}
	d.Open, d.Message = false, ""
}

// finish ends the stream, {"finishReason","usage"}. The usage is the sum over all steps.
// It is that of the message only where the step has no end of its own.
func (d *decoder) finish(w *wire.Writer, v jsonscan.Value) {
	reason := w.Text(v.Member("finishReason"))
	if d.Open {
		d.endStep(w, reason, v.Member("usage"))
	}
	end := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	if d.Failed || reason == "error" {
		end.Status, end.Text = "error", d.Failure
	}
	if d.Run {
		w.Emit(end)
	}
	*d = decoder{}
}

const maxFailure = 1 << 10

// failure records an error of the open step. Where none is open, the error is all that
// the stream has.
func (d *decoder) failure(w *wire.Writer, v jsonscan.Value) {
	text := w.FailureText(v)
	if d.Open {
		d.Failed, d.Failure = true, strings.ToValidUTF8(strings.Clone(text[:min(len(text), maxFailure)]), "")
		return
	}
	if !d.Run {
		w.Emit(chunks.Chunk{Kind: chunks.RunStart})
	}
	*d = decoder{}
	w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: text})
}
