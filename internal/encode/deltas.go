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

func sourceOf(e *events.Event) source {
	if e.Call != "" {
		return source{call: e.Call}
	}
	return source{place: placeOf(e), part: e.Part}
}

type textPart struct {
	source
	kind string // text or reasoning
	id   string // in the stream
}

func findPart(parts []textPart, s source) int {
	return slices.IndexFunc(parts, func(p textPart) bool { return p.source == s })
}

// deltas holds the texts of a history. Clients parse the whole text again with each
// delta, so a history has one delta for each text, as far as maxHeld allows. Live
// texts are not held. The zero value holds nothing and is in the history.
type deltas struct {
	live bool
	held []heldText // in the order of their first bytes
	size int
}

// heldText is a text of one delta, which is not copied, or of several.
type heldText struct {
	source
	one  string
	text []byte // if there are several
}

func (h *heldText) add(text string) {
	if len(h.text) == 0 {
		h.text = append(h.text, h.one...)
		h.one = ""
	}
	h.text = append(h.text, text...)
}

func (h *heldText) length() int { return len(h.one) + len(h.text) }

// add adds the next bytes of a text. The caller writes the held texts if they are
// due.
func (d *deltas) add(s source, text string) {
	d.size += len(text)
	if i := d.find(s); i >= 0 {
		d.held[i].add(text)
		return
	}
	d.held = append(d.held, heldText{source: s, one: text})
}

// addArgs adds a fragment of the args of a call. Where a fragment replaces bytes that
// were sent already, the client gets no more deltas.
func (d *deltas) addArgs(c *openCall, e *events.Event) {
	s, at := c.source(), e.Offset.Bytes()
	if at == 0 && c.args.sent == 0 {
		d.take(s)
		c.args.begin(e)
	}
	switch held := d.length(s); {
	case !c.args.plain:
		return
	case at < c.args.sent || at > c.args.sent+held:
		c.args.plain = false
		d.take(s)
		return
	default:
		d.keep(s, at-c.args.sent)
	}
	d.add(s, e.Args)
}

// due reports whether all held texts are to be written now.
func (d *deltas) due() bool { return len(d.held) > 0 && (d.live || d.size > maxHeld) }

// takeAll calls send with each held text, and holds them no longer.
func (d *deltas) takeAll(send func(s source, text string)) {
	for len(d.held) > 0 {
		s := d.held[0].source
		send(s, d.take(s))
	}
}

func (d *deltas) length(s source) int {
	if i := d.find(s); i >= 0 {
		return d.held[i].length()
	}
	return 0
}

// keep removes all but the first n bytes held of a text.
func (d *deltas) keep(s source, n int) {
	i := d.find(s)
	if i < 0 || n >= d.held[i].length() {
		return
	}
	h := &d.held[i]
	d.size -= h.length() - n
	if h.one != "" {
		h.one = h.one[:n]
	} else {
		h.text = h.text[:n]
	}
}

// take returns the bytes held of a text, and holds them no longer.
func (d *deltas) take(s source) string {
	i := d.find(s)
	if i < 0 {
		return ""
	}
	text := d.held[i].one + string(d.held[i].text)
	d.size -= len(text)
	d.held = slices.Delete(d.held, i, i+1)
	return text
}

func (d *deltas) find(s source) int {
	return slices.IndexFunc(d.held, func(h heldText) bool { return h.source == s })
}
