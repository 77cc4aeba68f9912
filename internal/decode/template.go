package decode

import (
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The deltas of a stream are alike: from one to the next only a fragment of
// text differs, and in another stream a few ids and counts. The Reader therefore
// keeps the text of a decoded delta as a template: literal text, with slots
// where those values stand. A delta that fits a template has the chunk of the
// first one, with other values. It is not parsed, checked or recognised again,
// because outside the slots it is the same bytes.
//
// An event either fits exactly, and then has the same chunk as if it were
// decoded, or it is decoded. Templates are therefore not part of the state:
// they change the speed of a Reader and nothing else.

// template is the text of a delta with slots.
type template struct {
	format wire.Format // the remembered one
	name   string      // of the SSE event
	parts  []templatePart
	tail   string
	chunk  chunks.Chunk // without the values of the slots
	note   uint8        // of the format
}

// templatePart is literal text and the slot after it.
type templatePart struct {
	literal string
	slot    wire.Slot
	number  bool // decimal digits, else the inside of a string
}

const (
	keptTemplates  = 12      // formats and kinds of deltas that a worker reads in turn
	templateText   = 4 << 10 // bytes of an event that may become a template
	templatePrice  = 8       // cost of a new template, in credit; each event adds one
	templateCredit = 8 * templatePrice
)

// templates are those of a Reader.
type templates struct {
	list   []*template // the most useful ones first
	credit int         // limits new templates in streams that never repeat
	fit    *template   // that the next piece is known to fit
	values [wire.NumSlots]string
}

// find looks for a template that an event fits.
func (t *templates) find(format, name, event string) bool {
	t.credit = min(t.credit+1, templateCredit)
	for i, m := range t.list {
		if m.format.Name() == format && m.name == name && m.fits(event, &t.values) {
			if i > 0 {
				t.list[i-1], t.list[i] = m, t.list[i-1]
			}
			t.fit = m
			return true
		}
	}
	return false
}

// add adds a template in place of the least useful one.
func (t *templates) add(m *template) {
	t.credit -= templatePrice
	if len(t.list) == keptTemplates {
		t.list = t.list[:keptTemplates-1]
	}
	t.list = append(t.list, m)
}

// fits reports whether an event fits, and sets the values of the slots: an index
// as written, the others without their quotes.
func (m *template) fits(event string, values *[wire.NumSlots]string) bool {
	at := 0
	for i := range m.parts {
		p := &m.parts[i]
		if !strings.HasPrefix(event[at:], p.literal) {
			return false
		}
		at += len(p.literal)
		var end int
		if p.number {
			end = wire.DigitsEnd(event, at)
		} else {
			end = insideEnd(event, at)
		}
		switch {
		case end < 0:
			return false
		case p.slot <= wire.ArgsCopy:
		case end == at:
			return false // an empty text is none
		case p.slot == wire.IndexSlot && !p.number:
			values[p.slot] = event[at-1 : end+1]
		default:
			values[p.slot] = event[at:end]
		}
		at = end
	}
	return event[at:] == m.tail
}

// insideEnd returns the offset of the quote that ends the string whose inside
// begins at i, or -1 where the string is not valid.
func insideEnd(s string, i int) int {
	start, ascii := i, true
	for {
		// Eight bytes at once. The lowest bit set is exact. A higher one may be
		// false, because of a borrow.
		for len(s)-i >= 8 {
			w := load8(s, i)
			quote, slash := w^ones*'"', w^ones*'\\'
			special := ((quote - ones) | (slash - ones) | (w - ones*' ') | w) & (ones << 7)
			if special == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(special) / 8
			break
		}
		if i >= len(s) {
			return -1
		}
		switch c := s[i]; {
		case c == '"':
			if !ascii && !utf8.ValidString(s[start:i]) {
				return -1
			}
			return i
		case c < ' ':
			return -1
		case c == '\\':
			n := jsonscan.EscapeLen(s[i:])
			if n == 0 {
				return -1
			}
			i += n
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
}

const ones = 0x0101010101010101

// load8 returns eight bytes from i on, the first as the lowest.
func load8(s string, i int) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s))[i:])
}

// fill emits the chunk of the event that fits a template.
func (r *Reader) fill() {
	m := r.templates.fit
	r.templates.fit = nil
	c := m.chunk
	m.fill(&r.w, &c, &r.templates.values)
	if filler, ok := r.state.decoder(m.format).(wire.Filler); ok {
		filler.Fill(&r.w, m.note, c)
		return
	}
	r.w.Emit(c)
}

// fill assigns the values of an event to the chunk of the template.
func (m *template) fill(w *wire.Writer, c *chunks.Chunk, values *[wire.NumSlots]string) {
	for i := range m.parts {
		p := &m.parts[i]
		if p.slot <= wire.ArgsCopy {
			continue
		}
		value := values[p.slot]
		switch p.slot {
		case wire.ArgsSlot:
			c.Args = w.Unquote(value)
		case wire.TextSlot:
			c.Text = w.Unquote(value)
		case wire.MessageSlot:
			c.Message = w.Unquote(value)
		case wire.NamespaceSlot:
			c.Namespace = w.Unquote(value)
		case wire.PartSlot:
			c.Part = jsonscan.Int(value)
		case wire.IndexSlot:
			if c.Kind == chunks.Fragment {
				c.Index = value
			}
		}
	}
}
