package decode

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// learn makes a template of a decoded event, where its chunk is one piece of
// text, or of the args of a call that exists.
func (r *Reader) learn(p piece, f wire.Frame) {
	if r.w.Len() != 1 || len(p.text) > templateText || r.templates.credit < templatePrice {
		return
	}
	format := find(r.state.Format)
	if format == nil || format.Claims(f) == wire.No {
		return // another format has decoded it
	}
	templated, ok := format.(wire.Templated)
	c := &r.w.Since(0)[0]
	if !ok || !repeats(c) {
		return
	}
	whole := jsonscan.ValueOf(p.text)
	if whole.IsArray() && !tuple(whole) {
		return // alone it would be a list of events
	}
	finder := wire.NewSlotFinder(p.text)
	at, ok := framePlace(finder, whole, f)
	if !ok {
		return
	}
	note, ok := templated.FindSlots(finder, f, at)
	slots, clear := finder.Found()
	if !ok || !clear {
		return
	}
	m := newTemplate(p.text, slots, c)
	m.format, m.name, m.note = format, strings.Clone(p.name), note
	_, filler := r.state.decoder(format).(wire.Filler)
	if m.reproduces(&r.w, p.text, *c, filler) {
		r.templates.add(m)
	}
}

// repeats reports whether a chunk is of a kind of which a stream has many.
func repeats(c *chunks.Chunk) bool {
	switch c.Kind {
	case chunks.Fragment:
		return c.ID == "" && c.Name == ""
	case chunks.Text, chunks.Reasoning:
		return true
	}
	return false
}

// framePlace returns the place of a frame in its event; see unwrap.
func framePlace(s *wire.SlotFinder, whole jsonscan.Value, f wire.Frame) (wire.Place, bool) {
	at := wire.Place{Value: whole}
	if f.JSON.Raw == whole.Raw {
		return at, true
	}
	outer := s.Members(at)
	s.Add(outer["id"], wire.Unread)
	at = outer["data"]
	return at, !f.Opened && f.JSON.Raw == at.Raw
}

// reproduces reports whether the template results in the chunk of its own
// event: the chunk has no value of which the template does not know the place.
func (m *template) reproduces(w *wire.Writer, event string, want chunks.Chunk, filler bool) bool {
	var values [wire.NumSlots]string
	if !m.fits(event, &values) {
		return false
	}
	got := m.chunk
	m.fill(w, &got, &values)
	if filler {
		got.Message = want.Message // it depends on the state
	}
	return got == want
}

// newTemplate returns a template of an event with slots.
func newTemplate(event string, slots []wire.FoundSlot, c *chunks.Chunk) *template {
	event, at := strings.Clone(event), 0
	m := new(template)
	for _, f := range slots {
		m.parts = append(m.parts, templatePart{literal: event[at:f.From], slot: f.Slot, number: f.Number})
		at = f.To
	}
	m.tail = event[at:]
	m.chunk = chunks.Chunk{
		Kind: c.Kind, Namespace: strings.Clone(c.Namespace), Choice: c.Choice,
		Index: strings.Clone(c.Index), CallKind: strings.Clone(c.CallKind), Part: c.Part,
	}
	return m
}
