package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// langDelta emits a piece of an AI message. Its tool_calls are what a
// best-effort parse makes of that piece alone, and count only where there is
// no member tool_call_chunks.
func (r reader) langDelta(ns string, m *langFields) {
	end := r.langEnding(m)
	of := chunks.Chunk{Namespace: ns, Choice: end.choice}
	var was string
	if of.Message, was = r.d.Messages.stream(ns, r.Text(m.id), langSays(m, end)); was != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Rename, Namespace: ns, Message: of.Message, ID: was})
	}

	pieces := m.pieces.Elements()
	some := pieces.Next()
	r.langContent(of, m.content, langReading{text: true, calls: !some})
	if thoughts := r.Text(end.thoughts); thoughts != "" {
		c := of
		c.Kind, c.Text = chunks.Reasoning, thoughts
		r.Emit(c)
	}
	for ; some; some = pieces.Next() {
		r.langPiece(of, pieces.Value)
	}
	if !m.pieces.IsArray() {
		of := of
		of.Whole = true
		r.langCalls(of, m.calls)
	}
	if m.usage.IsObject() {
		m.usage = jsonscan.ValueOf(r.langUsage(of.Namespace, of.Message, m.usage))
	}
	r.langFinish(of, end, m.usage)
}

// langFinish emits the end of a message, and its usage behind it.
func (r reader) langFinish(of chunks.Chunk, end langEnd, usage jsonscan.Value) {
	if end.over {
		r.Emit(chunks.Chunk{
			Kind: chunks.Finish, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Reason: end.reason, Truncated: end.truncated, Repeated: of.Repeated,
		})
	}
	if usage.IsObject() {
		r.Emit(chunks.Chunk{
			Kind: chunks.Usage, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Usage: usage.Raw, Repeated: of.Repeated,
		})
	}
}

// langPiece emits {"index","id","name","args"}, an entry of tool_call_chunks.
// One that says nothing at all is none.
func (r reader) langPiece(of chunks.Chunk, piece jsonscan.Value) {
	of.Kind = chunks.Fragment
	for m := piece.Members(); m.Next(); {
		switch m.Key {
		case "index":
			if m.Value.Present() {
				of.Index = m.Value.Raw
			}
		case "id":
			of.ID = r.Text(m.Value)
		case "name":
			of.Name = r.Text(m.Value)
		case "args":
			if m.Value.IsNested() {
				of.Object, of.Args = true, r.Compact(m.Value.Raw)
			} else {
				of.Args = r.Text(m.Value)
			}
		}
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		r.Emit(of)
	}
}

// langSays sums up what a piece of a message says, for the memory of ids.
func langSays(m *langFields, end langEnd) langSaid {
	said := langSaid{ends: end.over}
	for e := m.pieces.Elements(); e.Next(); {
		said.calls = true
		if e.Value.Member("id").IsString() || e.Value.Member("name").IsString() {
			said.opens = true
		}
	}
	said.text = m.content.IsString() && len(m.content.Raw) > 2
	if e := m.content.Elements(); e.Next() {
		said.text = true
	}
	return said
}
