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

// partials reads a list of messages.
func (r reader) partials(ns string, list jsonscan.Value, complete bool) (first *wire.Problem) {
	if !list.IsArray() {
		return wire.WrongType("the payload of messages/partial and messages/complete", list, "a list of messages")
	}
	for e := list.Elements(); e.Next(); {
		m := readMessage(e.Value)
		if m.kind != kindAI && m.kind != kindAIChunk {
			if p := r.message(place{ns: ns}, e.Value); p != nil && first == nil {
				first = p
			}
			continue
		}
		r.partial(ns, &m, complete)
	}
	return first
}

func (r reader) partial(ns string, m *fields, complete bool) {
	id := r.Text(m.id)
	if known, _, ok := r.d.Messages.find(ns, id); ok {
		ns = known
	}
	p, known := r.d.Messages.partial(id)
	if complete && !known {
		r.wholeMessage(place{ns: ns}, m, true)
		return
	}
	of := chunks.Chunk{Namespace: ns, Message: id}
	p.at = 0
	r.growth(of, m, &p, complete)
	if complete {
		r.d.Messages.forget(id)
		m.pieces = jsonscan.Value{}
		r.wholeMessage(place{ns: ns}, m, false)
		return
	}
	r.d.Messages.stream(ns, id, summary{text: true})
	r.d.Messages.setPartial(p)
}

// growth emits what is new of a message.
func (r reader) growth(of chunks.Chunk, m *fields, p *partialText, final bool) {
	if m.content.IsString() {
		r.grownText(of, chunks.Text, m.content, p, final)
	}
	pieces := m.pieces.Elements()
	some := pieces.Next()
	n := 0
	of.Hold = true
	var indexes []jsonscan.Value // of the blocks; pieces bear one only where blocks do
	for e := m.content.Elements(); e.Next(); {
		b := readBlock(e.Value)
		of := of
		of.Part = partNumber(b.index)
		switch b.kind.Str {
		case "text", "output_text":
			r.grownText(of, chunks.Text, b.text, p, final)
		case "thinking", "reasoning":
			r.grownText(of, chunks.Reasoning, b.thought, p, final)
		case "tool_use", "tool_call_chunk":
			indexes = append(indexes, b.index)
			if n++; !some {
				r.grownCall(of, b.id, b.name, b.index, firstString(b.partial, b.args), p, final)
			}
		default:
			p.at++
		}
	}
	for i := 0; some; some = pieces.Next() {
		b := readBlock(pieces.Value)
		index := b.index
		if i < len(indexes) {
			index = indexes[i]
		} else if b.id.Present() {
			index = jsonscan.Value{}
		}
		r.grownCall(of, b.id, b.name, index, b.args, p, final)
		i++
		n++
	}
	if n > 0 {
		return
	}
	for e := m.calls.Elements(); e.Next(); {
		b := readBlock(e.Value)
		r.grownCall(of, b.id, b.name, b.index, jsonscan.Value{}, p, final)
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

func (r reader) grownText(of chunks.Chunk, kind chunks.Kind, v jsonscan.Value, p *partialText, final bool) {
	if of.Text, _ = p.tail(r.Text(v), false, final); of.Text != "" {
		of.Kind = kind
		r.Emit(of)
	}
}

func (r reader) grownCall(of chunks.Chunk, id, name, index, args jsonscan.Value, p *partialText, final bool) {
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

// partialText is how much of a message's texts was passed on, in bytes, in
// the order they stand in: parts of the content, then calls.
type partialText struct {
	ID    string `json:"i"`
	Parts []int  `json:"p,omitzero"`
	Calls []int  `json:"c,omitzero"`

	at, call int
}

const (
	maxPartials = 16   // messages that grow at once
	maxTexts    = 1024 // texts of one message; what is beyond them comes with the complete message
)

// tail gives what a text has beyond what was passed on, and whether it was not
// seen before. A half of a surrogate pair at its end waits for the other half.
func (p *partialText) tail(text string, call, final bool) (tail string, opened bool) {
	list, at := &p.Parts, &p.at
	if call {
		list, at = &p.Calls, &p.call
	}
	i := *at
	*at++
	if i >= maxTexts {
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
func (m *messages) partial(id string) (p partialText, known bool) {
	for _, p := range m.Partial {
		if p.ID == id {
			p.Parts, p.Calls = slices.Clone(p.Parts), slices.Clone(p.Calls)
			return p, true
		}
	}
	return partialText{ID: wire.Keep(id)}, false
}

// setPartial remembers p, as the latest; the oldest is forgotten.
func (m *messages) setPartial(p partialText) {
	p.at, p.call = 0, 0
	m.forget(p.ID)
	m.Partial = append(m.Partial[max(0, len(m.Partial)-maxPartials+1):], p)
}

func (m *messages) forget(id string) {
	kept := make([]partialText, 0, len(m.Partial)+1)
	for _, p := range m.Partial {
		if p.ID != id {
			kept = append(kept, p)
		}
	}
	m.Partial = kept
}

// messageMetadata reads messages/metadata: {message id: {"metadata":{…}}}.
func (r reader) messageMetadata(ns string, payload jsonscan.Value) {
	for m := payload.Members(); m.Next(); {
		where := ns
		if s := r.checkpointNamespace(m.Value.Member("metadata")); s != "" {
			where = s
		}
		r.d.Messages.stream(where, m.Key, summary{})
	}
}
