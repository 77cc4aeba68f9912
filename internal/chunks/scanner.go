package chunks

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of arrays and objects a Scanner takes.
// Anything deeper is Bad.
const MaxDepth = 10_000

// Status says what the text so far is.
type Status uint8

// The statuses.
const (
	More Status = iota // a proper prefix of a JSON text, or nothing yet
	May                // a complete top-level number, which could still grow
	Done               // one complete value, then only white space
	Bad                // no JSON text begins like this
)

// String gives the status as a word in lower case.
func (s Status) String() string {
	if int(s) < len(statusWords) {
		return statusWords[s]
	}
	return "unknown"
}

var statusWords = [...]string{More: "more", May: "may", Done: "done", Bad: "bad"}

// Scanner follows a JSON text (RFC 8259, strict, in valid UTF-8) that comes in
// pieces. It answers after each piece whether the text is complete, at a flat
// cost per byte and without keeping the text. A byte order mark is Bad.
//
// The zero value is ready. A Scanner is a value: after a plain assignment both
// copies can go on for themselves, at any depth. It allocates nothing up to a
// depth of 64, and beyond that 16 bytes per 32 levels at most.
type Scanner struct {
	off   int    // bytes consumed; when Bad, where the offending byte is
	end   int    // just behind the first complete value; 0 if there is none yet
	open  uint64 // the innermost `held` levels, one bit each, 1 for an object; the lowest bit is the innermost
	outer *outer // the levels around those
	depth uint16
	held  uint8
	state state
	inKey bool // the string that is open is a key
	first byte
	// What was wrong: the byte at off, and the state it came in.
	wrong struct {
		byte  byte
		state state
	}
}

// outer keeps 32 levels that do not fit into Scanner.open. It is never changed
// once made, so that copies of a Scanner can share it.
type outer struct {
	open uint32
	next *outer
}

// Write consumes the next piece, which may be cut at any byte, also inside an
// escape or a character, and gives the status of the text so far. Once Bad, it
// stays Bad and consumes nothing.
func (s *Scanner) Write(text string) Status {
	st := s.state
	if st == failed {
		return Bad
	}
	if s.first == 0 {
		s.begin(text)
	}
	for i := 0; i < len(text); i++ {
		if st == inString && len(text)-i >= 8 {
			if i = skipPlain(text, i); i == len(text) {
				break
			}
		}
		next := steps[st&63][classes[text[i]]&63]
		if next >= firstAction {
			next = s.act(next, s.off+i)
		}
		if next == nowhere {
			s.fail(st, text[i], i)
			return Bad
		}
		st = next
	}
	s.off += len(text)
	s.state = st
	return s.Status()
}

// begin notes the first byte that is no white space.
func (s *Scanner) begin(text string) {
	if rest := strings.TrimLeft(text, " \t\r\n"); rest != "" {
		s.first = rest[0]
	}
}

// act takes the steps that depend on the nesting, or change it: it gives the
// state behind the byte at offset at, or nowhere.
func (s *Scanner) act(a state, at int) state {
	switch a {
	case openKey:
		s.inKey = true
		return inString
	case closeString:
		if s.inKey {
			s.inKey = false
			return wantColon
		}
		return s.endValue(at + 1)
	case takeComma:
		switch {
		case s.depth == 0:
			return nowhere
		case s.open&1 == 1:
			return wantKey
		}
		return wantValue
	case openObject:
		return s.push(1, wantFirstKey)
	case openArray:
		return s.push(0, wantFirstItem)
	case closeObject:
		return s.pop(1, at)
	case closeArray:
		return s.pop(0, at)
	case endNumber:
		return s.endValue(at)
	default: // endLiteral
		return s.endValue(at + 1)
	}
}

// endValue gives the state behind a value that ended just before offset end.
func (s *Scanner) endValue(end int) state {
	if s.depth > 0 {
		return afterValue
	}
	s.end = end
	return afterAll
}

func (s *Scanner) push(kind uint64, next state) state {
	if s.depth == MaxDepth {
		return nowhere
	}
	// Half of the word moves out, not all of it, so that a text which goes up
	// and down around the boundary does not allocate each time.
	if s.held == 64 {
		s.outer = &outer{open: uint32(s.open >> 32), next: s.outer}
		s.held = 32
	}
	s.open = s.open<<1 | kind
	s.held++
	s.depth++
	return next
}

func (s *Scanner) pop(kind uint64, at int) state {
	if s.depth == 0 || s.open&1 != kind {
		return nowhere
	}
	s.open >>= 1
	s.held--
	s.depth--
	if s.held == 0 && s.outer != nil {
		s.open, s.held = uint64(s.outer.open), 32
		s.outer = s.outer.next
	}
	return s.endValue(at + 1)
}

func (s *Scanner) fail(in state, b byte, i int) {
	s.off += i
	s.wrong.byte, s.wrong.state = b, in
	s.state = failed
}

// Status gives the status of the text so far.
func (s *Scanner) Status() Status {
	switch s.state {
	case afterAll:
		return Done
	case failed:
		return Bad
	case inZero, inDigits, inFraction, inExponent:
		if s.depth == 0 {
			return May
		}
	}
	return More
}

// Complete tells whether the text so far is one complete JSON value: Done or May.
func (s *Scanner) Complete() bool {
	st := s.Status()
	return st == Done || st == May
}

// Offset gives the number of bytes consumed. When Bad it is the offset of the
// offending byte.
func (s *Scanner) Offset() int { return s.off }

// DoneAt gives the offset just behind the first complete value, or -1 if there
// is none. It stays when what follows makes the text Bad. A top-level number
// is complete only when white space follows: before, it may grow, and a number
// that other bytes run into was never one.
func (s *Scanner) DoneAt() int {
	if s.end == 0 {
		return -1
	}
	return s.end
}

// First gives the first byte that is no white space ('{' for an object), or 0
// if there is none yet. A text that begins with a NUL byte also gives 0, and is
// Bad.
func (s *Scanner) First() byte { return s.first }

// Depth gives the number of arrays and objects that are open.
func (s *Scanner) Depth() int { return int(s.depth) }

// skipPlain gives the offset of the first byte from i on that is not certainly
// an ordinary part of a string: a quote, a backslash, a control byte, a broken
// or cut character, or one of the last seven bytes.
func skipPlain(text string, i int) int {
	for len(text)-i >= 8 {
		special := specialBytes(load8(text[i:]))
		if special == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(special) / 8
		if text[i] < utf8.RuneSelf {
			return i
		}
		for i < len(text) && text[i] >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(text[i:])
			if n == 1 {
				return i
			}
			i += n
		}
	}
	return i
}

// specialBytes marks, in the highest bit of each byte, what is no plain ASCII
// part of a string. The lowest mark is exact; one above it may be false,
// because of a borrow.
func specialBytes(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote - ones) | (slash - ones) | (w - ones*0x20) | w) & highs
}

// load8 reads eight bytes, the first into the lowest; compilers make one load of it.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
