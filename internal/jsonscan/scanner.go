// Package jsonscan reads JSON text.
//
// A Scanner checks a text that arrives in pieces and reports after each piece
// whether it is complete. A Cursor visits the members of an object or the
// elements of an array inside a text that is known to be valid, in place and
// without allocating. All functions are linear in their input.
package jsonscan

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting of arrays and objects. A Scanner reports
// deeper text as Bad.
const MaxDepth = 10_000

// Status is the state of the text that a Scanner has read.
type Status uint8

// The statuses.
const (
	More Status = iota // a proper prefix of a JSON text, or nothing yet
	May                // a complete top-level number, which could still grow
	Done               // one complete value, then only white space
	Bad                // no JSON text begins like this
)

// Scanner scans a JSON text (RFC 8259, strict, in valid UTF-8) that arrives in
// pieces. After each piece it reports whether the text is complete. The cost
// per byte is constant, and the text is not stored. A byte order mark is Bad.
//
// The zero value is ready to use. A Scanner is a value: after a plain
// assignment both copies can be used independently. It allocates nothing up to
// a depth of 64, and beyond that at most 16 bytes per 32 levels.
type Scanner struct {
	off   int    // bytes consumed; when Bad, where the offending byte is
	end   int    // just after the first complete value; 0 if there is none yet
	open  uint64 // the innermost held levels, one bit each, 1 for an object; the lowest bit is the innermost
	outer *outer // the levels around those
	depth uint16
	held  uint8
	state state
	inKey bool // the string that is open is a key
	first byte
	// The byte at off that was not allowed, and the state before it.
	wrong struct {
		byte  byte
		state state
	}
}

// outer holds 32 levels that do not fit into Scanner.open. It is immutable, so
// copies of a Scanner can share it.
type outer struct {
	open uint32
	next *outer
}

// Write consumes the next piece and returns the status of the text so far. A
// piece may be cut at any byte, also inside an escape or a character. After the
// status Bad, Write consumes nothing and the status stays Bad.
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
		next := steps[st&63][text[i]]
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

func (s *Scanner) begin(text string) {
	if rest := strings.TrimLeft(text, " \t\r\n"); rest != "" {
		s.first = rest[0]
	}
}

// act performs a step that depends on the nesting or changes it. It returns the
// state after the byte at offset at, or nowhere.
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

// endValue returns the state after a value that ended just before offset end.
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
	// Only half of the word moves out, so that a text whose depth varies around
	// the boundary does not allocate each time.
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

// Status returns the status of the text so far.
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

// Complete reports whether the text so far is one complete JSON value: Done or May.
func (s *Scanner) Complete() bool {
	st := s.Status()
	return st == Done || st == May
}

// Offset returns the number of bytes consumed. For a Bad text it is the offset
// of the offending byte.
func (s *Scanner) Offset() int { return s.off }

// DoneAt returns the offset just after the first complete value, or -1 if there
// is none. It does not change when later bytes make the text Bad. A top-level
// number is complete only when white space follows, because it may grow.
func (s *Scanner) DoneAt() int {
	if s.end == 0 {
		return -1
	}
	return s.end
}

// First returns the first byte that is not white space ('{' for an object), or
// 0 if there is none yet. It also returns 0 for a text that begins with a NUL
// byte, which is Bad.
func (s *Scanner) First() byte { return s.first }

// skipPlain returns the offset of the first byte from i on that may not be an
// ordinary part of a string: a quote, a backslash, a control byte, an invalid
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

// specialBytes sets the highest bit of each byte that is not a plain ASCII part
// of a string. The lowest bit set is exact. A higher one may be false, because
// of a borrow.
func specialBytes(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote - ones) | (slash - ones) | (w - ones*0x20) | w) & highs
}

// load8 returns eight bytes, the first as the lowest. Compilers make one load of it.
func load8(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
