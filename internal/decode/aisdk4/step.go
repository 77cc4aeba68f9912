package aisdk4

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startStep begins a step, {"messageId"}. Steps that continue an answer have the same
// id.
func (r reader) startStep(v jsonscan.Value) *wire.Problem {
	id := v.Member("messageId")
	if !id.IsString() {
		return wire.WrongType("messageId", id, "a string")
	}
	if r.d.Open { // the end of the last step was lost
		r.endStep("", jsonscan.Value{})
	}
	r.d.Message = wire.Keep(r.Text(id))
	r.begin()
	return nil
}

// begin begins a step, unless one is open: some servers send only content.
func (r reader) begin() {
	if r.d.Open {
		return
	}
	r.d.Open, r.d.Run, r.d.Failed, r.d.Failure = true, true, false, ""
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: "assistant", Fresh: true})
}

func (r reader) finishStep(v jsonscan.Value) {
	if r.d.Open {
		r.endStep(r.Text(v.Member("finishReason")), v.Member("usage"))
	}
}

// endStep emits the end of the message of the step. It is Truncated with any reason,
// because the line 9 completes calls, and the end of the step does not.
func (r reader) endStep(reason string, usage jsonscan.Value) {
	id := r.d.Message
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: id, Usage: r.Compact(usage.Raw)})
	}
	if r.d.Failed {
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: id, Text: r.d.Failure})
	} else {
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: id, Reason: reason, Truncated: true})
	}
	r.d.Open, r.d.Message = false, ""
}

// finish ends the stream, {"finishReason","usage"}. The usage is the sum over all steps.
// It is that of the message only where the step has no end of its own.
func (r reader) finish(v jsonscan.Value) {
	reason := r.Text(v.Member("finishReason"))
	if r.d.Open {
		r.endStep(reason, v.Member("usage"))
	}
	end := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	if r.d.Failed || reason == "error" {
		end.Status, end.Text = "error", r.d.Failure
	}
	if r.d.Run {
		r.Emit(end)
	}
	*r.d = Decoder{}
}

// maxFailure is the maximum number of bytes of the text of an error that is kept.
const maxFailure = 1 << 10

// failure records an error of the open step. Where none is open, the error is all that
// the stream has.
func (r reader) failure(v jsonscan.Value) {
	text := r.FailureText(v)
	if r.d.Open {
		r.d.Failed, r.d.Failure = true, strings.ToValidUTF8(strings.Clone(text[:min(len(text), maxFailure)]), "")
		return
	}
	if !r.d.Run {
		r.Emit(chunks.Chunk{Kind: chunks.RunStart})
	}
	*r.d = Decoder{}
	r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: text})
}
