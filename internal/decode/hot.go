package decode

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"streamer/internal/chunks"
)

// The deltas of a stream are alike: from one to the next only a fragment of
// text differs, and in another stream a few ids and counts. So the Reader keeps
// the text of a delta that was read the general way as a mould: literal text,
// with holes where those values stand. What fits a mould says what its first
// delta said, with other values, and is neither parsed nor checked nor
// recognised again, since outside the holes it is the same bytes.
//
// An event fits exactly, and then gives just what the general way gives, or it
// goes the general way. So moulds are no memory: what a Reader has seen before
// changes how fast it is and nothing else.

// hole says what the value in a hole is.
type hole uint8

const (
	noHole        hole = iota
	holeUnread         // nothing reads it, whatever scalar it is
	holeEcho           // the same, while there are args
	holeArgs           // becomes the Args of the chunk
	holeText           // becomes its Text
	holeMessage        // the id of the message
	holeNamespace      // of the message
	holeIndex          // of the call, or of the block
	holeKinds          // how many kinds there are
)

// mould is the text of a delta with holes.
type mould struct {
	format string // the remembered one
	name   string // of the SSE event
	parts  []mouldPart
	tail   string
	says   chunks.Chunk // without what is in the holes
	said   langSaid     // of langchain
}

// mouldPart is literal text and the hole behind it.
type mouldPart struct {
	literal string
	hole    hole
	number  bool // decimal digits, else the inside of a string
}

const (
	keptMoulds  = 12      // formats and kinds of deltas that a worker reads in turn
	mouldText   = 4 << 10 // bytes of an event that may become a mould
	mouldKeys   = 64      // of one object in it
	mouldPrice  = 8       // what a new mould costs of the credit that each event adds one to
	mouldCredit = 8 * mouldPrice
)

// moulds are those of a Reader.
type moulds struct {
	list   []*mould // the most useful ones first
	credit int      // streams that never repeat themselves must not make moulds all the time
	fit    *mould   // what the next piece is known to fit
	in     [holeKinds]string
}

// find looks for a mould that an event fits.
func (h *moulds) find(format, name, event string) bool {
	h.credit = min(h.credit+1, mouldCredit)
	for i, m := range h.list {
		if m.format == format && m.name == name && m.fits(event, &h.in) {
			if i > 0 {
				h.list[i-1], h.list[i] = m, h.list[i-1]
			}
			h.fit = m
			return true
		}
	}
	return false
}

// add takes a new mould; the least useful one gives way.
func (h *moulds) add(m *mould) {
	h.credit -= mouldPrice
	if len(h.list) == keptMoulds {
		h.list = h.list[:keptMoulds-1]
	}
	h.list = append(h.list, m)
}

// fits tells whether an event fits, and gives what is in its holes: an index as
// it stands, the others without their quotes.
func (m *mould) fits(event string, in *[holeKinds]string) bool {
	at := 0
	for i := range m.parts {
		p := &m.parts[i]
		if !strings.HasPrefix(event[at:], p.literal) {
			return false
		}
		at += len(p.literal)
		var end int
		if p.number {
			end = digitsEnd(event, at)
		} else {
			end = insideEnd(event, at)
		}
		switch {
		case end < 0:
			return false
		case p.hole <= holeEcho:
		case end == at:
			return false // an empty text is none
		case p.hole == holeIndex && !p.number:
			in[p.hole] = event[at-1 : end+1]
		default:
			in[p.hole] = event[at:end]
		}
		at = end
	}
	return event[at:] == m.tail
}

// digitsEnd gives the end of the decimal number without sign that begins at i,
// or -1.
func digitsEnd(s string, i int) int {
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	if i == start || s[start] == '0' && i > start+1 {
		return -1
	}
	return i
}

// insideEnd gives the place of the quote that ends the string whose inside
// begins at i, or -1 where it is not valid.
func insideEnd(s string, i int) int {
	start, ascii := i, true
	for {
		// Eight bytes at once; the lowest mark is exact, one above it may be
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
			n := escapeLen(s[i:])
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

// load8 reads eight bytes from i on, the first into the lowest.
func load8(s string, i int) uint64 {
	return binary.LittleEndian.Uint64(unsafe.Slice(unsafe.StringData(s), len(s))[i:])
}

// escapeLen gives the length of the escape that s begins with, 0 if it is none.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s); ok {
			return 6
		}
	}
	return 0
}

// pour emits what the event says that was found to fit.
func (r *Reader) pour() {
	m, in := r.moulds.fit, &r.moulds.in
	r.moulds.fit = nil
	r.out = append(r.out, m.says)
	c := &r.out[len(r.out)-1]
	m.fill(r, c, in)
	switch m.format {
	case "anthropic":
		mem := partOf(&r.mem.Anthropic)
		c.Message = mem.Message
		if c.Kind == chunks.Fragment && mem.Kind == otherBlock && mem.Block == c.Index {
			r.out = r.out[:len(r.out)-1]
		}
	case "langchain":
		var was string
		if c.Message, was = partOf(&r.mem.LangChain).stream(c.Namespace, c.Message, m.said); was != "" {
			of := *c
			*c = chunks.Chunk{Kind: chunks.Rename, Namespace: of.Namespace, Message: of.Message, ID: was}
			r.emit(of)
		}
	}
}

// fill gives the chunk of the mould the values of an event.
func (m *mould) fill(r *Reader, c *chunks.Chunk, in *[holeKinds]string) {
	for i := range m.parts {
		p := &m.parts[i]
		if p.hole <= holeEcho {
			continue
		}
		value := in[p.hole]
		switch p.hole {
		case holeArgs:
			c.Args = r.plain(value)
		case holeText:
			c.Text = r.plain(value)
		case holeMessage:
			c.Message = r.plain(value)
		case holeNamespace:
			c.Namespace = r.plain(value)
		case holeIndex:
			if c.Kind == chunks.Fragment {
				c.Index = value
			} else if m.format == "anthropic" {
				c.Part, _ = strconv.Atoi(value) // 0 where it is a string
			}
		}
	}
}
