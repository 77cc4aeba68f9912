package vercelui

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// start begins a stream. Where several streams are merged into one, start repeats:
// a start of the same message in mid-stream has no effect.
func (r reader) start(e *event) {
	id := r.Text(e.message)
	if r.d.Open && (id == "" || id == r.d.Message) {
		return
	}
	*r.d = Decoder{Message: wire.Keep(id), Open: true}
	r.Emit(chunks.Chunk{Kind: chunks.RunStart})
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: "assistant", Fresh: true})
}

// startStep begins a step. The start of the stream has begun the first one.
func (r reader) startStep() {
	if r.d.Stepped {
		r.Emit(r.finishChunk(""))
		r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: r.d.Message})
	}
	if r.d.Stepped || !r.d.Open {
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: "assistant", Fresh: true})
	}
	r.d.Open, r.d.Stepped, r.d.Parts = true, true, nil
}

func (r reader) finishStep(e *event) {
	if e.finish.IsString() {
		r.Emit(r.finishChunk(r.Text(e.finish)))
	}
	if e.usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: r.d.Message, Usage: r.Compact(e.usage.Raw)})
	}
}

// finishChunk returns the end of the answer in a step. It is Truncated with any
// reason: a call without tool-input-available is complete only if its args are whole
// JSON.
func (r reader) finishChunk(reason string) chunks.Chunk {
	return chunks.Chunk{Kind: chunks.Finish, Message: r.d.Message, Reason: reason, Truncated: true}
}

// finish ends a stream. The usage of finish is the sum over all steps and belongs to
// no message, so it is not used.
func (r reader) finish(e *event) {
	r.Emit(r.finishChunk(r.Text(e.finish)))
	status := "completed"
	switch {
	case e.finish.Str == "error":
		status = "error"
	case r.d.Waits:
		status = "interrupted"
	}
	*r.d = Decoder{}
	r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: status})
}
