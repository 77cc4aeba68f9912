package langchain

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The server's stream_mode messages sends each message whole so far, again and
// again, in messages/partial, and at last in messages/complete. What it says
// that was not said before is its tail: texts only grow. So it is remembered
// how much of each text was passed on, and what is emitted are deltas.
//
// The args so far are in tool_call_chunks, or, as raw text, in the blocks of
// the content; those in tool_calls are a repaired parse of an incomplete text
// and are taken only when the message is complete: they are what the server
// sends as the call then, and stand for the text (Hold).

// langPartials reads a list of messages.
func (r reader) langPartials(ns string, list jsonscan.Value, complete bool) (first *wire.Problem) {
	if !list.IsArray() {
		return wire.WrongType("the payload of messages/partial and messages/complete", list, "a list of messages")
	}
	for e := list.Elements(); e.Next(); {
		m := readLangMessage(e.Value)
		if m.kind != langAI && m.kind != langChunk {
			if p := r.langMessage(langPlace{ns: ns}, e.Value); p != nil && first == nil {
				first = p
			}
			continue
		}
		r.langPartial(ns, &m, complete)
	}
	return first
}

func (r reader) langPartial(ns string, m *langFields, complete bool) {
	mem := &r.d.Messages
	id := r.Text(m.id)
	if known, _, ok := mem.find(ns, id); ok {
		ns = known
	}
	p, known := mem.partial(id)
	if complete && !known {
		r.langWhole(langPlace{ns: ns}, m, true)
		return
	}
	of := chunks.Chunk{Namespace: ns, Message: id}
	p.at = 0
	r.langSoFar(of, m, &p, complete)
	if complete {
		mem.forget(id)
		m.pieces = jsonscan.Value{}
		r.langWhole(langPlace{ns: ns}, m, false)
		return
	}
	mem.stream(ns, id, langSaid{text: true})
	mem.setPartial(p)
}

// langSoFar emits what is new of a message.
func (r reader) langSoFar(of chunks.Chunk, m *langFields, p *langPartialText, final bool) {
	if m.content.IsString() {
		r.langGrown(of, chunks.Text, m.content, p, final)
	}
	pieces := m.pieces.Elements()
	some := pieces.Next()
	n := 0
	of.Hold = true
	var indexes []jsonscan.Value // of the blocks; pieces bear one only where blocks do
	for e := m.content.Elements(); e.Next(); {
		b := langBlockMembers(e.Value)
		of := of
		of.Part = langPartOf(b.index)
		switch b.kind.Str {
		case "text", "output_text":
			r.langGrown(of, chunks.Text, b.text, p, final)
		case "thinking", "reasoning":
			r.langGrown(of, chunks.Reasoning, b.thought, p, final)
		case "tool_use", "tool_call_chunk":
			indexes = append(indexes, b.index)
			if n++; !some {
				r.langGrownCall(of, b.id, b.name, b.index, firstString(b.partial, b.args), p, final)
			}
		default:
			p.at++
		}
	}
	for i := 0; some; some = pieces.Next() {
		b := langBlockMembers(pieces.Value)
		index := b.index
		if i < len(indexes) {
			index = indexes[i]
		} else if b.id.Present() {
			index = jsonscan.Value{}
		}
		r.langGrownCall(of, b.id, b.name, index, b.args, p, final)
		i++
		n++
	}
	if n > 0 {
		return
	}
	for e := m.calls.Elements(); e.Next(); {
		b := langBlockMembers(e.Value)
		r.langGrownCall(of, b.id, b.name, b.index, jsonscan.Value{}, p, final)
	}
}

func firstString(list ...jsonscan.Value) jsonscan.Value {
	for _, v := range list {
		if v.IsString() {
			return v
		}
	}
	return jsonscan.Value{}
}

func (r reader) langGrown(of chunks.Chunk, kind chunks.Kind, v jsonscan.Value, p *langPartialText, final bool) {
	if of.Text, _ = p.tail(r.Text(v), false, final); of.Text != "" {
		of.Kind = kind
		r.Emit(of)
	}
}

func (r reader) langGrownCall(of chunks.Chunk, id, name, index, args jsonscan.Value, p *langPartialText, final bool) {
	of.Kind, of.Part, of.ID, of.Name = chunks.Fragment, 0, r.Text(id), r.Text(name)
	if index.Present() {
		of.Index = index.Raw
	}
	tail, opened := p.tail(r.Text(args), true, final)
	if of.Args = tail; tail == "" && !opened || of.ID == "" && of.Name == "" && tail == "" {
		return
	}
	r.Emit(of)
}

// langPartialText is how much of a message's texts was passed on, in bytes, in
// the order they stand in: parts of the content, then calls.
type langPartialText struct {
	ID    string `json:"i"`
	Parts []int  `json:"p,omitzero"`
	Calls []int  `json:"c,omitzero"`

	at, call int
}

const (
	keptPartials = 16   // messages that grow at once
	keptTexts    = 1024 // texts of one message; what is beyond them comes with the complete message
)

// tail gives what a text has beyond what was passed on, and whether it was not
// seen before. A half of a surrogate pair at its end waits for the other half.
func (p *langPartialText) tail(text string, call, final bool) (tail string, opened bool) {
	list, at := &p.Parts, &p.at
	if call {
		list, at = &p.Calls, &p.call
	}
	i := *at
	*at++
	if i >= keptTexts {
		return "", false
	}
	for i >= len(*list) {
		*list, opened = append(*list, 0), true
	}
	end := len(text)
	if n := strings.LastIndexByte(text, 0xED); !final && n >= 0 && n == len(text)-3 && text[n+1] >= 0xA0 {
		end = n
	}
	from := (*list)[i]
	if end <= from {
		return "", opened
	}
	(*list)[i] = end
	return text[from:end], opened
}

// partial gives a copy of what is remembered of a growing message.
func (m *messages) partial(id string) (p langPartialText, known bool) {
	for _, p := range m.Partial {
		if p.ID == id {
			p.Parts, p.Calls = slices.Clone(p.Parts), slices.Clone(p.Calls)
			return p, true
		}
	}
	return langPartialText{ID: wire.Keep(id)}, false
}

// setPartial remembers p, as the latest; the oldest is forgotten.
func (m *messages) setPartial(p langPartialText) {
	p.at, p.call = 0, 0
	m.forget(p.ID)
	m.Partial = append(m.Partial[max(0, len(m.Partial)-keptPartials+1):], p)
}

func (m *messages) forget(id string) {
	kept := make([]langPartialText, 0, len(m.Partial)+1)
	for _, p := range m.Partial {
		if p.ID != id {
			kept = append(kept, p)
		}
	}
	m.Partial = kept
}

// langPlaces reads messages/metadata: {message id: {"metadata":{…}}}.
func (r reader) langPlaces(ns string, payload jsonscan.Value) {
	for m := payload.Members(); m.Next(); {
		where := ns
		if s := r.langCheckpoint(m.Value.Member("metadata")); s != "" {
			where = s
		}
		r.d.Messages.stream(where, m.Key, langSaid{})
	}
}
