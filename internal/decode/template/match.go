package template

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

type template struct {
	format *wire.Format
	name   string // of the SSE event
	parts  []part
	tail   string
	padded string         // the tail up to the white space before its last byte
	before []chunks.Chunk // starts of the message
	chunk  chunks.Chunk   // without the values of the slots
	after  []chunks.Chunk // usage
	note   uint8          // of the format
	fills  bool           // the Decoder is a wire.Filler
	opens  bool           // the event may begin a call or a value, which has no template
}

// part is literal text and the slot after it.
type part struct {
	literal string
	slot    wire.Slot
	number  bool // decimal digits, else the inside of a string
}

// values are the values of the slots of an event: an index as written, the
// others without their quotes.
type values [wire.NumSlots]string

// fits reports whether an event fits, and sets the values of the slots.
func (t *template) fits(event string, v *values) bool {
	at, usage := 0, 0
	for i := range t.parts {
		p := &t.parts[i]
		if !strings.HasPrefix(event[at:], p.literal) {
			return false
		}
		at += len(p.literal)
		var end int
		switch p.slot {
		case wire.UsageStart:
			usage = at
			continue
		case wire.UsageSlot:
			v[p.slot] = event[usage:at]
			continue
		}
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
			return false // an empty text has no chunk
		case p.slot == wire.IndexSlot && !p.number:
			v[p.slot] = event[at-1 : end+1]
		default:
			v[p.slot] = event[at:end]
		}
		at = end
	}
	return event[at:] == t.tail || t.endsPadded(event[at:])
}

// endsPadded reports whether rest is the tail with other white space before the last
// brace. Anthropic hides the lengths of its deltas in this way.
func (t *template) endsPadded(rest string) bool {
	if len(rest) <= len(t.padded) || rest[:len(t.padded)] != t.padded || rest[len(rest)-1] != '}' {
		return false
	}
	for i := len(t.padded); i < len(rest)-1; i++ {
		if rest[i] != ' ' {
			return false
		}
	}
	return true
}

// emit emits the chunk of an event with the values v, unless the Decoder
// reports that its state requires the event to be decoded.
func (t *template) emit(w *wire.Writer, d wire.Decoder, v *values) bool {
	n := w.Len()
	for i := range t.before {
		w.Add(&t.before[i])
	}
	c := w.Add(&t.chunk)
	t.set(w, c, v)
	if t.fills && !d.(wire.Filler).Fill(w, t.note, c) {
		w.Truncate(n)
		return false
	}
	if len(t.before)+len(t.after) > 0 {
		t.emitAround(w, n)
	}
	return true
}

// emitAround completes the chunks before the last one, from n on, and emits those after
// it. They are of its message.
func (t *template) emitAround(w *wire.Writer, n int) {
	last := &w.Since(w.Len() - 1)[0]
	message, usage := last.Message, last.Usage
	last.Usage = ""
	before := w.Since(n)[:len(t.before)]
	for i := range before {
		before[i].Message = message
	}
	for i := range t.after {
		c := w.Add(&t.after[i])
		c.Message, c.Usage = message, usage
	}
}

func (t *template) set(w *wire.Writer, c *chunks.Chunk, v *values) {
	for i := range t.parts {
		slot := t.parts[i].slot
		if slot <= wire.ArgsCopy {
			continue
		}
		switch value := v[slot]; slot {
		case wire.ArgsSlot:
			c.Args = w.Unquote(value)
		case wire.RawArgsSlot:
			c.Args = value
		case wire.TextSlot:
			c.Text = w.Unquote(value)
		case wire.MessageSlot:
			c.Message = w.Unquote(value)
		case wire.NamespaceSlot:
			c.Namespace = w.Unquote(value)
		case wire.CallSlot:
			c.ID = w.Unquote(value)
		case wire.RunSlot:
			c.Run = w.Unquote(value)
		case wire.UsageSlot:
			c.Usage = value
		case wire.IndexSlot, wire.BlockSlot:
			if c.Kind == chunks.Fragment {
				c.Index = value
			} else if slot == wire.BlockSlot {
				c.Part = jsonscan.Int(value)
			}
		}
	}
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
