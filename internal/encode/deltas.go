package encode

import (
	"slices"

	"streamer/internal/events"
)

// maxHeld is the maximum number of bytes that deltas hold.
const maxHeld = 256 << 10

// source identifies a text that arrives in deltas: the args of a call, or a content
// part of a message.
type source struct {
	call  string // "" for a content part
	place events.Place
	part  int
}

// sourceOf returns the source of the text of an event.
func sourceOf(e *events.Event) source {
	if e.Call != "" {
		return source{call: e.Call}
	}
	s := source{part: e.Part}
	if e.Place != nil {
		s.place = *e.Place
	}
	return s
}

// deltas holds the texts of a history. Clients parse the whole text again with each
// delta, so a history has one delta for each text, as far as maxHeld allows. Live
// texts are not held. The zero value holds nothing and is in the history.
type deltas struct {
	live bool
	held []heldText // in the order of their first bytes
	size int
}

type heldText struct {
	source
	text []byte
}

// add adds the next bytes of a text. The caller writes the held texts if they are
// due.
func (d *deltas) add(s source, text string) {
	d.size += len(text)
	if i := d.find(s); i >= 0 {
		d.held[i].text = append(d.held[i].text, text...)
		return
	}
	d.held = append(d.held, heldText{s, []byte(text)})
}

// due reports whether all held texts are to be written now.
func (d *deltas) due() bool { return len(d.held) > 0 && (d.live || d.size > maxHeld) }

// length returns the number of bytes held of a text.
func (d *deltas) length(s source) int {
	if i := d.find(s); i >= 0 {
		return len(d.held[i].text)
	}
	return 0
}

// keep removes all but the first n bytes held of a text.
func (d *deltas) keep(s source, n int) {
	if i := d.find(s); i >= 0 && n < len(d.held[i].text) {
		d.size -= len(d.held[i].text) - n
		d.held[i].text = d.held[i].text[:n]
	}
}

// take returns the bytes held of a text, and holds them no longer.
func (d *deltas) take(s source) string {
	i := d.find(s)
	if i < 0 {
		return ""
	}
	text := string(d.held[i].text)
	d.size -= len(text)
	d.held = slices.Delete(d.held, i, i+1)
	return text
}

// first returns the source of the first held text. There must be one.
func (d *deltas) first() source { return d.held[0].source }

func (d *deltas) find(s source) int {
	return slices.IndexFunc(d.held, func(h heldText) bool { return h.source == s })
}
