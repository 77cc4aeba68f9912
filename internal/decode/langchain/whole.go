package langchain

import (
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
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
func (d *decoder) wholeMessage(w *wire.Writer, at place, m *fields, text bool) {
	end := d.readEnd(w, m)
	of := chunks.Chunk{Namespace: at.ns, Choice: end.choice, Repeated: at.repeated}
	of.Message = w.Text(m.id)
	if d.Messages.pieces && strings.HasSuffix(m.class, "Chunk") {
		return
	}
	streamed := false
	if ns, id, ok := d.Messages.find(at.ns, of.Message); ok {
		of.Namespace, of.Message, streamed = ns, id, true
	}
	text = text && !streamed && (!at.repeated || !d.Messages.Live && of.Message != "")
	n := w.Len()
	d.emitContent(w, of, m.content, selection{text: text, whole: true, alone: !m.hasCalls()})
	d.emitText(w, of, chunks.Reasoning, end.thoughts, selection{text: text})
	if !streamed || !end.truncated {
		of := of
		of.Whole = true
		d.wholeCalls(w, of, m, at.repeated || streamed)
	}
	if at.repeated && !streamed && w.Len() == n {
		if of.Message != "" {
			of.Kind = chunks.Listed
			w.Emit(of)
		}
		return
	}
	end.over = true
	d.finish(w, of, end, m.usage)
	if !at.growing {
		of.Kind = chunks.Ended
		w.Emit(of)
	}
	d.Messages.done(of.Namespace, of.Message)
}

// wholeCalls emits the calls of a whole message. LangChain generates an id where the
// provider has none. A call without an id is a call that the provider runs. In a
// repeated message it cannot be matched with a streamed call, so it is dropped.
func (d *decoder) wholeCalls(w *wire.Writer, of chunks.Chunk, m *fields, again bool) {
	n := w.Len()
	if pieces := m.pieces.Elements(); pieces.Next() {
		d.callList(w, of, m.pieces)
	} else {
		d.callList(w, of, m.calls)
		d.callList(w, of, m.invalid)
	}
	if again {
		w.Drop(n, func(c *chunks.Chunk) bool { return c.ID == "" })
	}
}

// callList emits the entries of tool_calls, whose args are an object, or of
// invalid_tool_calls, whose args are the raw text.
func (d *decoder) callList(w *wire.Writer, of chunks.Chunk, calls jsonscan.Value) {
	for e := calls.Elements(); e.Next(); {
		d.callPiece(w, of, e.Value)
	}
}

// totalUsage returns the usage of a message so far. Each piece of a message has a
// share of the usage, and langchain_core adds the shares up. The last piece does not
// repeat what the provider counted at the beginning.
func (d *decoder) totalUsage(w *wire.Writer, ns, id string, usage jsonscan.Value) string {
	i := d.Messages.index(ns, id)
	if i < 0 {
		return usage.Raw
	}
	s, sum := &d.Messages.Streamed[i], usage.Raw
	if s.Usage != "" {
		sum = w.Build(func(dst []byte) []byte {
			return addUsage(dst, jsonscan.ValueOf(s.Usage), usage, 0)
		})
	}
	if len(sum) <= wire.MaxUsage {
		s.Usage = strings.Clone(sum)
	}
	return sum
}

// usageDepth is the depth to which objects of counts are added.
const usageDepth = 4

// addUsage appends the sum of two objects of counts: the members of the first, then
// the members that only the second has. A member that is not a count has the value
// of the second.
func addUsage(dst []byte, a, b jsonscan.Value, depth int) []byte {
	dst = append(dst, '{')
	for m := a.Members(); m.Next(); {
		v := b.Member(m.Key)
		switch {
		case v.Raw == "":
			dst = wire.AppendMember(dst, &m)
			continue
		case m.Value.IsObject() && v.IsObject() && depth < usageDepth:
			dst = wire.AppendKey(dst, m.RawKey)
			dst = addUsage(dst, m.Value, v, depth+1)
			continue
		case m.Value.Kind == jsonscan.Number && v.Kind == jsonscan.Number:
			dst = wire.AppendKey(dst, m.RawKey)
			dst = strconv.AppendInt(dst, int64(m.Value.Int())+int64(v.Int()), 10)
			continue
		}
		m.Value = v
		dst = wire.AppendMember(dst, &m)
	}
	for m := b.Members(); m.Next(); {
		if a.Member(m.Key).Raw == "" {
			dst = wire.AppendMember(dst, &m)
		}
	}
	return append(dst, '}')
}
