package template

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// Event is a stream event that was decoded.
type Event struct {
	Format *wire.Format
	Name   string // of the SSE event, or ""
	Text   string
	Frame  wire.Frame
	// Place returns the place of the frame in the text. It may add slots of the
	// text around the frame, and returns false if the frame is not in the text.
	Place func(s *wire.SlotFinder, f wire.Frame) (wire.Place, bool)
}

// Learn makes a template of an event, if its chunks are one piece of text or of
// the args of a call that exists, and at most starts and the usage of its message. The Writer holds the chunks of the event. The
// Decoder is the one that has decoded it.
//
// An attempt costs several times as much as decoding, and is paid for even if it
// fails. After one that fails late, the Cache learns nothing for a while.
func (c *Cache) Learn(e Event, w *wire.Writer, d wire.Decoder) {
	if !c.MayLearn(e.Text, w) || fills(d) && Main(w.Since(0)) > 0 {
		return
	}
	c.credit -= price
	c.finder.Reset(e.Text)
	defer c.finder.Reset("")
	t := newTemplate(e, &c.finder, w, d)
	switch {
	case t == nil:
	case t.reproduces(w, e.Text, d):
		t.keep()
		c.add(t)
	case !t.opens:
		c.credit = -debt
	}
}

// MayLearn reports whether an event with the chunks in w can become a template.
func (c *Cache) MayLearn(event string, w *wire.Writer) bool {
	return len(event) <= maxEvent && c.credit >= price && Main(w.Since(0)) >= 0
}

// maxChunks bounds the chunks of an event that may become a template.
const maxChunks = 3

// Main returns the position of the text or the args among the chunks of an event that
// can become a template, or -1. Starts may stand before it, and the usage after it, of
// the same message.
func Main(list []chunks.Chunk) int {
	if len(list) > maxChunks {
		return -1
	}
	found := -1
	for i := range list {
		switch c := &list[i]; {
		case found < 0 && repeats(c):
			found = i
		case found < 0 && c.Kind != chunks.Start, found >= 0 && c.Kind != chunks.Usage:
			return -1
		}
	}
	return found
}

// repeats reports whether a chunk is a piece of args or of a text, of which a
// stream has many.
func repeats(c *chunks.Chunk) bool {
	switch c.Kind {
	case chunks.Fragment:
		return c.Args != "" && !c.Object && !c.Whole
	case chunks.Text, chunks.Reasoning:
		return c.Text != ""
	}
	return false
}

// reproduces reports whether the template results in the chunk of its own
// event: the chunk has no value of which the template does not know the place.
// The Decoder has decoded the event already; a second event of the same text
// would have the same chunk.
func (t *template) reproduces(w *wire.Writer, event string, d wire.Decoder) bool {
	var v values
	if !t.fits(event, &v) {
		return false
	}
	n := w.Len()
	defer w.Truncate(n)
	d, err := t.format.Copy(d)
	return err == nil && t.emit(w, d, &v) && slices.Equal(w.Since(0)[:n], w.Since(n))
}

// newTemplate returns a template of an event, or nil if it has not the slots for
// one. The template shares the text of the event.
func newTemplate(e Event, finder *wire.SlotFinder, w *wire.Writer, d wire.Decoder) *template {
	if e.Format.FindSlots == nil {
		return nil
	}
	at, ok := e.Place(finder, e.Frame)
	if !ok {
		return nil
	}
	note, ok := e.Format.FindSlots(finder, e.Frame, at)
	slots, complete := finder.Found()
	if !ok || !complete {
		return nil
	}
	list := w.Since(0)
	i := Main(list)
	t := &template{
		format: e.Format, name: e.Name,
		before: literals(list[:i]), chunk: literal(&list[i]), after: literals(list[i+1:]), note: note,
		opens: list[i].Kind == chunks.Fragment && list[i].ID != "" && list[i].Name != "" || finder.Has(wire.RawArgsSlot),
	}
	t.cut(e.Text, slots)
	t.fills = fills(d)
	if finder.Has(wire.UsageSlot) != (len(t.after) > 0) {
		return nil
	}
	return t
}

// fills reports whether the chunks of a Decoder depend on its state, as the starts
// before a text do, so events with starts have no templates.
func fills(d wire.Decoder) bool {
	_, ok := d.(wire.Filler)
	return ok
}

// literals returns the fields of chunks that are the same for all events of a template.
func literals(list []chunks.Chunk) (all []chunks.Chunk) {
	for i := range list {
		all = append(all, literal(&list[i]))
	}
	return all
}

func (t *template) cut(event string, slots []wire.FoundSlot) {
	at := 0
	t.parts = make([]part, 0, len(slots))
	for _, f := range slots {
		t.parts = append(t.parts, part{literal: event[at:f.From], slot: f.Slot, number: f.Number})
		at = f.To
	}
	t.setTail(event[at:])
}

func (t *template) keep() {
	t.name = strings.Clone(t.name)
	for i := range t.parts {
		t.parts[i].literal = strings.Clone(t.parts[i].literal)
	}
	t.setTail(strings.Clone(t.tail))
	keepStrings(&t.chunk)
	for _, list := range [...][]chunks.Chunk{t.before, t.after} {
		for i := range list {
			keepStrings(&list[i])
		}
	}
}

func keepStrings(c *chunks.Chunk) {
	for _, s := range [...]*string{&c.Namespace, &c.Role, &c.Index, &c.Name, &c.CallKind} {
		*s = strings.Clone(*s)
	}
}

func (t *template) setTail(tail string) {
	t.tail, t.padded = tail, tail
	if inside, ok := strings.CutSuffix(tail, "}"); ok {
		t.padded = strings.TrimRight(inside, " ")
	}
}

// literal returns the fields of a chunk that are the same for all events of a
// template. The message, the id of the call, the text and the args are values
// of slots or of the Decoder's state.
func literal(c *chunks.Chunk) chunks.Chunk {
	return chunks.Chunk{
		Kind: c.Kind, Namespace: c.Namespace, Choice: c.Choice, Role: c.Role, Fresh: c.Fresh,
		Index: c.Index, Part: c.Part,
		Name: c.Name, CallKind: c.CallKind,
		Provider: c.Provider, Final: c.Final, Opens: c.Opens, Exact: c.Exact, IDVaries: c.IDVaries,
	}
}
