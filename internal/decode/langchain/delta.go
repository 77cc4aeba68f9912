package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// delta emits a piece of an AI message. Its tool_calls are a best-effort parse of that
// piece alone. They are read only where there is no member tool_call_chunks.
func (d *decoder) delta(w *wire.Writer, ns string, m *fields) {
	end := d.readEnd(w, m)
	of := chunks.Chunk{Namespace: ns, Choice: end.choice}
	var was string
	if of.Message, was = d.Messages.stream(ns, w.Text(m.id), summarize(m, end)); was != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Rename, Namespace: ns, Message: of.Message, ID: was})
	}

	if m.usage.IsObject() && d.onlyUsage(of, m, end) {
		end.over, end.wait = true, 1
	}
	pieces := m.pieces.Elements()
	some := pieces.Next()
	d.emitContent(w, of, m.content, selection{text: true, calls: !some, alone: !m.hasCalls()})
	d.emitText(w, of, chunks.Reasoning, end.thoughts, selection{text: true})
	d.callList(w, of, m.pieces)
	if !m.pieces.IsArray() {
		of := of
		of.Whole = true
		d.callList(w, of, m.calls)
	}
	if m.usage.IsObject() {
		m.usage = jsonscan.ValueOf(d.totalUsage(w, of.Namespace, of.Message, m.usage))
	}
	end.restated = chunks.RestatedSoon // by updates, values or the events of traces
	d.finish(w, of, end, m.usage)
}

// onlyUsage reports whether a piece has only the usage of a text, which is then
// finished: @langchain/openai sends no finish reason before it. A call is not complete
// for that reason.
func (d *decoder) onlyUsage(of chunks.Chunk, m *fields, end messageEnd) bool {
	if summarize(m, end) != 0 || end.thoughts.Present() {
		return false
	}
	i := d.Messages.index(of.Namespace, of.Message)
	return i >= 0 && d.Messages.Streamed[i].text()
}

func (d *decoder) finish(w *wire.Writer, of chunks.Chunk, end messageEnd, usage jsonscan.Value) {
	discarded := wire.Discards(end.reason) && !of.Repeated
	if discarded { // mostly there is no other content
		w.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice, Role: "assistant"})
	}
	if end.over {
		w.Emit(chunks.Chunk{
			Kind: chunks.Finish, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Reason: end.reason, Truncated: end.truncated, Wait: end.wait, Repeated: of.Repeated, Restated: end.restated,
		})
	}
	w.EmitUsage(chunks.Chunk{Namespace: of.Namespace, Message: of.Message, Choice: of.Choice, Repeated: of.Repeated}, usage)
	if discarded {
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: of.Namespace, Message: of.Message, Text: w.Join("the finish reason is ", end.reason)})
	}
}

// hasCalls reports whether a message has calls outside of its content, which may repeat
// them in blocks of the provider.
func (m *fields) hasCalls() bool {
	for _, list := range [...]jsonscan.Value{m.calls, m.pieces, m.invalid} {
		if calls := list.Elements(); calls.Next() {
			return true
		}
	}
	return false
}

// callPiece emits {"index","id","name","args"}, an entry of tool_call_chunks. An empty
// entry is skipped.
func (d *decoder) callPiece(w *wire.Writer, of chunks.Chunk, piece jsonscan.Value) {
	var index, id, name, args, other jsonscan.Value
	w.ReadKnown("tool_calls", piece,
		name.From("name"), args.From("args"), id.From("id"), index.From("index"), other.From("type"),
		other.From("error"), // of invalid_tool_calls
	)
	of.Kind, of.Index, of.ID, of.Name = chunks.Fragment, wire.RawIndex(index), w.Text(id), w.Text(name)
	w.SetArgs(&of, args)
	w.EmitCall(of)
}

func summarize(m *fields, end messageEnd) (s summary) {
	if end.over {
		s |= hasEnd
	}
	for e := m.pieces.Elements(); e.Next(); {
		s |= hasCalls
		if e.Value.Member("id").IsString() || e.Value.Member("name").IsString() {
			s |= opensCall
		}
	}
	if e := m.content.Elements(); e.Next() || m.content.IsString() && len(m.content.Raw) > 2 {
		s |= hasText
	}
	return s
}
