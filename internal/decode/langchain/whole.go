package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// wholeMessage emits a whole AI message: one that was not streamed, or one that
// confirms a streamed message. It belongs to the namespace in which it was streamed,
// and the text of a streamed message is not emitted again. The text of a repeated
// message is emitted only where no messages are streamed.
//
// The args of a message that was joined from pieces are in tool_call_chunks, as the
// model wrote them. The args in tool_calls are parsed and, where the answer is
// truncated, repaired. They are therefore not read in a streamed message that is
// truncated.
func (r reader) wholeMessage(at place, m *fields, text bool) {
	end := r.readEnd(m)
	of := chunks.Chunk{Namespace: at.ns, Choice: end.choice, Repeated: at.repeated}
	of.Message = r.Text(m.id)
	streamed := false
	if ns, id, ok := r.d.Messages.find(at.ns, of.Message); ok {
		of.Namespace, of.Message, streamed = ns, id, true
	}
	text = text && !streamed && (!at.repeated || !r.d.Messages.Live && of.Message != "")
	n := r.Len()
	r.emitContent(of, m.content, wanted{text: text, whole: true, alone: !m.hasCalls()})
	if thoughts := r.Text(end.thoughts); text && thoughts != "" {
		c := of
		c.Kind, c.Text = chunks.Reasoning, thoughts
		r.Emit(c)
	}
	if !streamed || !end.truncated {
		of := of
		of.Whole = true
		r.wholeCalls(of, m, at.repeated || streamed)
	}
	if at.repeated && !streamed && r.Len() == n {
		if of.Message != "" {
			of.Kind = chunks.Listed
			r.Emit(of)
		}
		return
	}
	end.over = true
	r.finish(of, end, m.usage)
	if !at.growing {
		of.Kind = chunks.Ended
		r.Emit(of)
	}
	r.d.Messages.done(of.Namespace, of.Message)
}

// wholeCalls emits the calls of a whole message. LangChain generates an id where the
// provider has none. A call without an id is a call that the provider runs. In a
// repeated message it cannot be matched with a streamed call, so it is dropped.
func (r reader) wholeCalls(of chunks.Chunk, m *fields, again bool) {
	n := r.Len()
	pieces := m.pieces.Elements()
	if pieces.Next() {
		for some := true; some; some = pieces.Next() {
			r.callPiece(of, pieces.Value)
		}
	} else {
		r.callList(of, m.calls)
		r.callList(of, m.invalid)
	}
	if !again {
		return
	}
	r.Drop(n, func(c *chunks.Chunk) bool { return c.ID == "" })
}

// callList emits the entries of tool_calls, whose args are an object, or of
// invalid_tool_calls, whose args are the raw text.
func (r reader) callList(of chunks.Chunk, calls jsonscan.Value) {
	for e := calls.Elements(); e.Next(); {
		r.callPiece(of, e.Value)
	}
}
