package langchain

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// In stream_mode messages the server sends a message again for each delta: the
// whole message so far in messages/partial, and at the end in messages/complete.
// Texts only grow. The state therefore has the length of each text that was emitted,
// and the rest of the text is a delta. A finish reason states that the message is
// finished, whether it is sent again or not.
//
// The args so far are in tool_call_chunks or, as text, in the blocks of the content.
// The args in tool_calls are a repaired parse of incomplete text. They are read only
// in the finished message, where they replace the text (Hold).

func (d *decoder) partials(w *wire.Writer, ns string, list jsonscan.Value, complete bool) (first *wire.Problem) {
	if !list.IsArray() {
		return wire.WrongType("the payload of messages/partial and messages/complete", list, "a list of messages")
	}
	d.Messages.Live = true
	for e := list.Elements(); e.Next(); {
		m := readMessage(e.Value)
		if m.kind != kindAI && m.kind != kindAIChunk {
			first = cmp.Or(first, d.message(w, place{ns: ns}, e.Value))
			continue
		}
		d.unknownMembers(w, &m)
		d.partial(w, ns, &m, complete)
	}
	return first
}

func (d *decoder) partial(w *wire.Writer, ns string, m *fields, complete bool) {
	id := w.Text(m.id)
	if known, _, ok := d.Messages.find(ns, id); ok {
		ns = known
	}
	p, known := d.Messages.takePartial(id)
	if complete && !known {
		d.wholeMessage(w, place{ns: ns}, m, true)
		return
	}
	of := chunks.Chunk{Namespace: ns, Message: id}
	over := complete || d.readEnd(w, m).over
	p.at, p.call = 0, 0
	d.growth(w, of, m, &p, over)
	if !complete {
		d.Messages.Partial = append(wire.MakeRoom(d.Messages.Partial, maxPartials), p)
	}
	if !over || !known {
		d.Messages.stream(ns, id, hasText)
	}
	if over {
		m.pieces = jsonscan.Value{}
		d.wholeMessage(w, place{ns: ns, growing: !complete}, m, false)
	}
}

func (d *decoder) growth(w *wire.Writer, of chunks.Chunk, m *fields, p *partialText, final bool) {
	if m.content.IsString() {
		d.grownText(w, of, chunks.Text, m.content, p, final)
	}
	pieces := m.pieces.Elements()
	some := pieces.Next()
	of.Hold = true
	indexes := d.grownBlocks(w, of, m.content, p, final, !some)
	i := 0
	for ; some; some = pieces.Next() {
		b := readBlock(pieces.Value)
		d.noArgs(w, &b)
		index := b.index
		if i < len(indexes) {
			index = indexes[i]
		} else if b.id.Present() {
			index = jsonscan.Value{}
		}
		d.grownCall(w, of, b.id, b.name, index, b.args, p, final)
		i++
	}
	if len(indexes) > 0 || i > 0 {
		return
	}
	for e := m.calls.Elements(); e.Next(); {
		b := readBlock(e.Value)
		d.grownCall(w, of, b.id, b.name, b.index, jsonscan.Value{}, p, final)
	}
}

// grownBlocks emits the new content of blocks, with their calls if calls is true. It
// returns the indexes of the calls: pieces of calls have an index only where blocks
// have one.
func (d *decoder) grownBlocks(w *wire.Writer, of chunks.Chunk, content jsonscan.Value, p *partialText, final, calls bool) (indexes []jsonscan.Value) {
	for e := content.Elements(); e.Next(); {
		b := readBlock(e.Value)
		of.Part = partNumber(b.index)
		switch b.kind.Str {
		case "text", "output_text":
			d.grownText(w, of, chunks.Text, b.text, p, final)
		case "thinking", "reasoning":
			d.grownText(w, of, chunks.Reasoning, b.thought, p, final)
		case "tool_use", "tool_call_chunk":
			d.noArgs(w, &b)
			indexes = append(indexes, b.index)
			if calls {
				d.grownCall(w, of, b.id, b.name, b.index, firstString(b.partial, b.args), p, final)
			}
		default:
			p.at++
		}
	}
	return indexes
}

func firstString(list ...jsonscan.Value) jsonscan.Value {
	for _, v := range list {
		if v.IsString() {
			return v
		}
	}
	return jsonscan.Value{}
}

func (d *decoder) grownText(w *wire.Writer, of chunks.Chunk, kind chunks.Kind, v jsonscan.Value, p *partialText, final bool) {
	if of.Text, _ = p.tail(w.Text(v), false, final); of.Text != "" {
		of.Kind = kind
		w.Emit(of)
	}
}

// grownCall emits the new args of a call, and the call where it is new.
func (d *decoder) grownCall(w *wire.Writer, of chunks.Chunk, id, name, index, args jsonscan.Value, p *partialText, final bool) {
	of.Kind, of.Part, of.ID, of.Name = chunks.Fragment, 0, w.Text(id), w.Text(name)
	if index.Present() {
		of.Index = index.Raw
	}
	tail, opened := p.tail(w.Text(args), true, final)
	if of.Args = tail; tail == "" && !opened || of.ID == "" && of.Name == "" && tail == "" {
		return
	}
	w.Emit(of)
}

// partialText is the lengths of the texts of a message that were emitted, in bytes
// and in the order of the message: the parts of the content, then the calls.
type partialText struct {
	ID    string
	Parts []int
	Calls []int

	at, call int // the number of parts and of calls that were read
}

func (p *partialText) fields(f *stored.Fields) {
	f.Text("i", &p.ID)
	stored.Numbers(f, "p", &p.Parts)
	stored.Numbers(f, "c", &p.Calls)
}

// The bounds of the state of growing messages.
const (
	maxPartials = 16   // messages
	maxTexts    = 1024 // texts of one message; further texts are read in the complete message
)

// tail returns the part of a text that was not emitted, and whether the text is new.
// Half of a surrogate pair at the end of the text waits for the other half.
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

// takePartial removes the state of a growing message and returns it, or a new one, and
// whether there was one.
func (m *messages) takePartial(id string) (p partialText, known bool) {
	id = id[:min(len(id), wire.MaxID)]
	i := slices.IndexFunc(m.Partial, func(p partialText) bool { return p.ID == id })
	if i < 0 {
		return partialText{ID: strings.Clone(id)}, false
	}
	p = m.Partial[i]
	m.Partial = slices.Delete(m.Partial, i, i+1)
	return p, true
}

// messageMetadata reads messages/metadata: {message id: {"metadata":{…}}}.
func (d *decoder) messageMetadata(w *wire.Writer, ns string, payload jsonscan.Value) {
	for m := payload.Members(); m.Next(); {
		where := ns
		if s := d.checkpointNamespace(w, m.Value.Member("metadata")); s != "" {
			where = s
		}
		d.Messages.stream(where, m.Key, 0)
	}
}
