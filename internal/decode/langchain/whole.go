package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// langWhole emits an AI message that is whole: one that was not streamed, or
// one that confirms what was. It counts for the namespace it was streamed in,
// where that is known, and its text is not said again.
//
// The args of a message put together from pieces are in tool_call_chunks, as
// the model spelled them; those in tool_calls are parsed, and where the model
// was cut off in the middle, repaired: of a streamed message that was, its
// calls are what was streamed.
func (r reader) langWhole(at langPlace, m *langFields, text bool) {
	end := r.langEnding(m)
	of := chunks.Chunk{Namespace: at.ns, Choice: end.choice, Repeated: at.repeated}
	of.Message = r.Text(m.id)
	streamed := false
	if ns, id, ok := r.d.Messages.find(at.ns, of.Message); ok {
		of.Namespace, of.Message, streamed = ns, id, true
	}
	text = text && !at.repeated && !streamed
	r.langContent(of, m.content, langReading{text: text, whole: true})
	if thoughts := r.Text(end.thoughts); text && thoughts != "" {
		c := of
		c.Kind, c.Text = chunks.Reasoning, thoughts
		r.Emit(c)
	}
	n := r.Len()
	if !streamed || !end.truncated {
		of := of
		of.Whole = true
		r.langWholeCalls(of, m, at.repeated || streamed)
	}
	if at.repeated && !streamed && r.Len() == n {
		return // the history of a thread: nothing is open that this could end
	}
	end.over = true
	r.langFinish(of, end, m.usage)
	r.d.Messages.done(of.Namespace, of.Message)
}

// langWholeCalls emits the calls of a whole message. LangChain gives a call an
// id where the provider has none; one without is a tool of the provider's that
// lost its id, and cannot be told from what was streamed before.
func (r reader) langWholeCalls(of chunks.Chunk, m *langFields, again bool) {
	n := r.Len()
	pieces := m.pieces.Elements()
	if pieces.Next() {
		for some := true; some; some = pieces.Next() {
			r.langPiece(of, pieces.Value)
		}
	} else {
		r.langCalls(of, m.calls)
		r.langCalls(of, m.invalid)
	}
	if !again {
		return
	}
	r.Drop(n, func(c *chunks.Chunk) bool { return c.ID == "" })
}

// langCalls emits the entries of tool_calls, whose args are an object, or of
// invalid_tool_calls, whose args are the raw text.
func (r reader) langCalls(of chunks.Chunk, calls jsonscan.Value) {
	for e := calls.Elements(); e.Next(); {
		r.langPiece(of, e.Value)
	}
}
