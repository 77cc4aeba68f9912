package decode

import (
	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// langWhole emits an AI message that is whole: one that was not streamed, or
// one that confirms what was. It counts for the namespace it was streamed in,
// where that is known, and its text is not said again.
//
// The args of a message put together from pieces are in tool_call_chunks, as
// the model spelled them; those in tool_calls are parsed, and where the model
// was cut off in the middle, repaired: of a streamed message that was, its
// calls are what was streamed.
func (r *Reader) langWhole(at langPlace, m *langFields, text bool) {
	end := r.langEnding(m)
	of := chunks.Chunk{Namespace: at.ns, Choice: end.choice, Repeated: at.repeated}
	of.Message = r.text(m.id)
	streamed := false
	if ns, id, ok := partOf(&r.mem.LangChain).find(at.ns, of.Message); ok {
		of.Namespace, of.Message, streamed = ns, id, true
	}
	text = text && !at.repeated && !streamed
	r.langContent(of, m.content, langReading{text: text, whole: true})
	if thoughts := r.text(end.thoughts); text && thoughts != "" {
		c := of
		c.Kind, c.Text = chunks.Reasoning, thoughts
		r.emit(c)
	}
	n := len(r.out)
	if !streamed || !end.truncated {
		of := of
		of.Whole = true
		r.langWholeCalls(of, m, at.repeated || streamed)
	}
	if at.repeated && !streamed && len(r.out) == n {
		return // the history of a thread: nothing is open that this could end
	}
	end.over = true
	r.langFinish(of, end, m.usage)
	partOf(&r.mem.LangChain).done(of.Namespace, of.Message)
}

// langWholeCalls emits the calls of a whole message. LangChain gives a call an
// id where the provider has none; one without is a tool of the provider's that
// lost its id, and cannot be told from what was streamed before.
func (r *Reader) langWholeCalls(of chunks.Chunk, m *langFields, again bool) {
	n := len(r.out)
	pieces := elements(m.pieces)
	if pieces.next() {
		for some := true; some; some = pieces.next() {
			r.langPiece(of, pieces.value)
		}
	} else {
		r.langCalls(of, m.calls)
		r.langCalls(of, m.invalid)
	}
	if !again {
		return
	}
	kept := r.out[:n]
	for _, c := range r.out[n:] {
		if c.ID != "" {
			kept = append(kept, c)
		}
	}
	r.out = kept
}

// langCalls emits the entries of tool_calls, whose args are an object, or of
// invalid_tool_calls, whose args are the raw text.
func (r *Reader) langCalls(of chunks.Chunk, calls gjson.Result) {
	for e := elements(calls); e.next(); {
		r.langPiece(of, e.value)
	}
}
