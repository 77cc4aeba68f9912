package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// delta emits a piece of an AI message. Its tool_calls are a best-effort parse of that
// piece alone. They are read only where there is no member tool_call_chunks.
func (d *Decoder) delta(w *wire.Writer, ns string, m *fields) {
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
	if thoughts := w.Text(end.thoughts); thoughts != "" {
		c := of
		c.Kind, c.Text = chunks.Reasoning, thoughts
		w.Emit(c)
	}
	for ; some; some = pieces.Next() {
		d.callPiece(w, of, pieces.Value)
	}
	if !m.pieces.IsArray() {
		of := of
		of.Whole = true
		d.callList(w, of, m.calls)
	}
	if m.usage.IsObject() {
		m.usage = jsonscan.ValueOf(d.totalUsage(w, of.Namespace, of.Message, m.usage))
	}
	d.finish(w, of, end, m.usage)
}

// onlyUsage reports whether a piece has only the usage of a text, which is then
// finished: @langchain/openai sends no finish reason before it. A call is not complete
// for that reason.
func (d *Decoder) onlyUsage(of chunks.Chunk, m *fields, end messageEnd) bool {
	piece := summarize(m, end)
	if end.over || piece.text || piece.calls || end.thoughts.Present() {
		return false
	}
	i := d.Messages.index(of.Namespace, of.Message)
	return i >= 0 && d.Messages.Streamed[i].text()
}

func (d *Decoder) finish(w *wire.Writer, of chunks.Chunk, end messageEnd, usage jsonscan.Value) {
	discarded := wire.Discards(end.reason) && !of.Repeated
	if discarded { // mostly there is no other content
		w.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice, Role: "assistant"})
	}
	if end.over {
		w.Emit(chunks.Chunk{
			Kind: chunks.Finish, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Reason: end.reason, Truncated: end.truncated, Wait: end.wait, Repeated: of.Repeated,
		})
	}
	if usage.IsObject() {
		w.Emit(chunks.Chunk{
			Kind: chunks.Usage, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice,
			Usage: usage.Raw, Repeated: of.Repeated,
		})
	}
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
func (d *Decoder) callPiece(w *wire.Writer, of chunks.Chunk, piece jsonscan.Value) {
	of.Kind = chunks.Fragment
	for m := piece.Members(); m.Next(); {
		switch m.Key {
		case "index":
			if m.Value.Present() {
				of.Index = m.Value.Raw
			}
		case "id":
			of.ID = w.Text(m.Value)
		case "name":
			of.Name = w.Text(m.Value)
		case "args":
			if m.Value.IsNested() {
				of.Object, of.Args = true, w.Compact(m.Value.Raw)
			} else {
				of.Args = w.Text(m.Value)
			}
		case "type", "error": // the latter of invalid_tool_calls
		default:
			w.UnknownMember("tool_calls", m.Key, m.Value)
		}
	}
	if of.ID != "" || of.Name != "" || of.Args != "" {
		w.Emit(of)
	}
}

func summarize(m *fields, end messageEnd) summary {
	s := summary{ends: end.over}
	for e := m.pieces.Elements(); e.Next(); {
		s.calls = true
		if e.Value.Member("id").IsString() || e.Value.Member("name").IsString() {
			s.opens = true
		}
	}
	s.text = m.content.IsString() && len(m.content.Raw) > 2
	if e := m.content.Elements(); e.Next() {
		s.text = true
	}
	return s
}
