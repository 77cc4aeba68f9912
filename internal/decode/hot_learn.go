package decode

import (
	"slices"
	"strings"
	"unsafe"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// learn makes a mould of an event that was read the general way, where it said
// one piece of text, or of the args of a call that is there.
func (r *Reader) learn(p piece, f Frame) {
	if len(r.out) != 1 || len(p.text) > mouldText || r.moulds.credit < mouldPrice {
		return
	}
	if fm := find(r.mem.Format); fm == nil || fm.claims(f) == no {
		return // another one has read it
	}
	c := &r.out[0]
	switch c.Kind {
	case chunks.Fragment:
		if c.ID != "" || c.Name != "" {
			return
		}
	case chunks.Text, chunks.Reasoning:
	default:
		return
	}
	whole := valueOf(p.text)
	if isArray(whole) && !tuple(whole) {
		return // alone it would be a list of events
	}
	k := caster{event: p.text}
	said, ok := k.cast(r.mem.Format, f)
	if !ok {
		return
	}
	m := k.mould(c)
	m.format, m.name, m.said = strings.Clone(r.mem.Format), strings.Clone(p.name), said
	if m.proves(r, p.text, c) {
		r.moulds.add(m)
	}
}

// proves tells whether the mould gives its own event back: there is nothing in
// the chunk that it does not know the place of.
func (m *mould) proves(r *Reader, event string, want *chunks.Chunk) bool {
	var in [holeKinds]string
	if !m.fits(event, &in) {
		return false
	}
	got := m.says
	m.fill(r, &got, &in)
	if m.format != "openai-chat" { // whose message it is, memory says
		got.Message = want.Message
	}
	return got == *want
}

// caster finds the holes of an event.
type caster struct {
	event string
	found []mouldHole
	bad   bool // there is something that a mould could be wrong about
}

// mouldHole is a hole in an event: the digits of a number, the inside of a string.
type mouldHole struct {
	from, to int
	hole     hole
	number   bool
}

// mouldPlace is a value and where it stands in the event.
type mouldPlace struct {
	gjson.Result
	at int
}

// cast finds the holes, for a format whose general decoder reads these places
// and, of the texts among them, no others.
func (k *caster) cast(format string, f Frame) (said langSaid, ok bool) {
	at := mouldPlace{valueOf(k.event), 0}
	if !sameBytes(f.JSON.Raw, at.Raw) { // see unwrap
		outer := k.list(at)
		at = outer["data"]
		k.scalar(outer["id"], holeUnread)
	}
	if !sameBytes(f.JSON.Raw, at.Raw) {
		return said, false // what was read does not stand in the event as it is
	}
	switch format {
	case "openai-chat":
		k.walk("", at, openAIHole)
	case "anthropic":
		if member(at.Result, "type").Str != "content_block_delta" {
			return said, false
		}
		k.walk("", at, anthropicHole)
	case "langchain":
		said, ok = k.langChain(f.Name, at)
		if !ok {
			return said, false
		}
	default:
		return said, false
	}
	return said, k.sound()
}

// sameBytes tells whether a and b are the same bytes at the same place.
func sameBytes(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b)
}

// sound tells whether each hole is found once, and one with a text.
func (k *caster) sound() bool {
	var n [holeKinds]int
	for _, f := range k.found {
		n[f.hole]++
	}
	for h := holeArgs; h < holeKinds; h++ {
		k.bad = k.bad || n[h] > 1
	}
	return !k.bad && n[holeArgs]+n[holeText] == 1 && (n[holeEcho] == 0 || n[holeArgs] == 1)
}

// mould makes a mould of the holes.
func (k *caster) mould(c *chunks.Chunk) *mould {
	event, at := strings.Clone(k.event), 0
	m := new(mould)
	slices.SortFunc(k.found, func(a, b mouldHole) int { return a.from - b.from })
	for _, f := range k.found {
		m.parts = append(m.parts, mouldPart{literal: event[at:f.from], hole: f.hole, number: f.number})
		at = f.to
	}
	m.tail = event[at:]
	m.says = chunks.Chunk{
		Kind: c.Kind, Namespace: strings.Clone(c.Namespace), Choice: c.Choice,
		Index: strings.Clone(c.Index), CallKind: strings.Clone(c.CallKind), Part: c.Part,
	}
	return m
}

// list gives the members of an object.
func (k *caster) list(v mouldPlace) map[string]mouldPlace {
	list := map[string]mouldPlace{}
	for m := members(v.Result); m.next(); {
		// Which of two members of the same name counts is the decoder's affair.
		if _, twice := list[m.key]; twice || len(list) == mouldKeys {
			k.bad = true
			break
		}
		list[strings.Clone(m.key)] = mouldPlace{m.value, v.at + m.at - len(m.value.Raw)}
	}
	return list
}

// items gives the elements of an array.
func (k *caster) items(v mouldPlace) (list []mouldPlace) {
	for e := elements(v.Result); e.next(); {
		list = append(list, mouldPlace{e.value, v.at + e.at - len(e.value.Raw)})
	}
	return list
}

// walk finds the holes in a value: paths are keys joined by dots, with a star
// for the elements of an array.
func (k *caster) walk(path string, v mouldPlace, hole func(path string) hole) {
	switch {
	case isObject(v.Result):
		seen := k.list(v)
		for m := members(v.Result); m.next() && !k.bad; {
			if strings.ContainsAny(m.key, ".*") {
				continue // it must not pass for a path
			}
			k.walk(join(path, m.key), seen[m.key], hole)
		}
	case isArray(v.Result):
		for _, e := range k.items(v) {
			k.walk(join(path, "*"), e, hole)
		}
	default:
		k.scalar(v, hole(path))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// scalar notes a hole where v is a value that can be in one.
func (k *caster) scalar(v mouldPlace, h hole) {
	end := v.at + len(v.Raw)
	switch {
	case h == noHole:
	case v.Type == gjson.String && (h == holeUnread || len(v.Raw) > 2):
		k.found = append(k.found, mouldHole{v.at + 1, end - 1, h, false})
	case v.Type == gjson.Number && (h == holeIndex || h == holeUnread) && digitsEnd(k.event, v.at) == end:
		k.found = append(k.found, mouldHole{v.at, end, h, true})
	}
}
