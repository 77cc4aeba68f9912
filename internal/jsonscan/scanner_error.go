package jsonscan

import (
	"fmt"
	"strconv"
)

// SyntaxError describes why a text is not JSON.
type SyntaxError struct {
	Msg    string
	Offset int // in bytes, of the offending byte, or of the end of the text
}

// Error returns the message and the offset.
func (e *SyntaxError) Error() string { return e.Msg + " at offset " + strconv.Itoa(e.Offset) }

// Check returns what prevents text from being exactly one JSON value in UTF-8,
// or nil.
func Check(text string) *SyntaxError {
	var s Scanner
	switch s.Write(text) {
	case Done, May:
		return nil
	case More:
		return &SyntaxError{Msg: "the JSON text ends before it is complete", Offset: len(text)}
	}
	return s.Err()
}

// Err returns the error of a text that is Bad, and nil for any other.
func (s *Scanner) Err() *SyntaxError {
	if s.state != failed {
		return nil
	}
	return &SyntaxError{Msg: s.fault(), Offset: s.off}
}

// fault describes the offending byte. The texts are part of events.
func (s *Scanner) fault() string {
	b, in := s.wrong.byte, s.wrong.state
	opens := b == '{' || b == '['
	switch {
	case opens && s.depth == MaxDepth && steps[in][b] != nowhere:
		return "arrays and objects are nested deeper than " + strconv.Itoa(MaxDepth)
	case in >= inString && in < afterMinus && b >= 0x80, in >= rune1 && in < afterMinus:
		return "a byte that is no valid UTF-8 (" + show(b) + ")"
	case in == inString:
		return "a control character that is not escaped in a string (" + show(b) + ")"
	case s.depth == 0 && (in == inZero || in == inDigits || in == inFraction || in == inExponent):
		return show(b) + " behind a top-level number"
	}
	return show(b) + " where " + s.wanted(in) + " is expected"
}

// wanted describes the bytes that a state allows. A value that is over allows a comma or
// the end of the array or object.
func (s *Scanner) wanted(in state) string {
	switch in {
	case atStart, wantValue:
		return "a JSON value"
	case wantFirstItem:
		return "a JSON value or ]"
	case wantFirstKey:
		return "a key in double quotes or }"
	case wantKey:
		return "a key in double quotes"
	case wantColon:
		return "a colon"
	case afterAll:
		return "nothing more"
	case inEscape:
		return "the rest of an escape"
	case hex4, hex3, hex2, hex1:
		return "a hex digit"
	case afterE:
		return "a digit or a sign"
	case afterMinus, afterPoint, afterESign:
		return "a digit"
	case inT, inTr, inTru:
		return "the rest of true"
	case inF, inFa, inFal, inFals:
		return "the rest of false"
	case inN, inNu, inNul:
		return "the rest of null"
	}
	if s.open&1 == 1 {
		return "a comma or }"
	}
	return "a comma or ]"
}

func show(b byte) string {
	if b < 0x20 || b >= 0x7F {
		return fmt.Sprintf("byte 0x%02X", b)
	}
	return strconv.QuoteRune(rune(b))
}

// endings holds, for each state within a value, the next part of the shortest end of
// the text. It is immutable. An empty one closes the innermost array or object.
var endings = [states]string{
	atStart: "null", wantValue: "null", wantFirstItem: "]", wantFirstKey: "}",
	wantKey: `"":null`, wantColon: ":null",
	inString: `"`, inEscape: `\`, hex4: "0", hex3: "0", hex2: "0", hex1: "0",
	rune1: "\x80", rune2: "\x80", rune3: "\x80",
	afterE0: "\xA0", afterED: "\x80", afterF0: "\x90", afterF4: "\x80",
	afterMinus: "0", afterPoint: "0", afterE: "0", afterESign: "0",
	inT: "rue", inTr: "ue", inTru: "e",
	inF: "alse", inFa: "lse", inFal: "se", inFals: "e", //nolint:misspell // the rest of false
	inN: "ull", inNu: "ll", inNul: "l",
}

// AppendEnd appends a text after which the text so far is one complete value. It
// appends nothing to a text that is complete or Bad. The Scanner does not consume
// the text that is appended.
func (s *Scanner) AppendEnd(dst []byte) []byte {
	rest := *s
	for rest.Status() == More {
		part := endings[rest.state]
		switch {
		case part != "":
		case rest.open&1 == 1:
			part = "}"
		default:
			part = "]"
		}
		dst = append(dst, part...)
		rest.Write(part)
	}
	return dst
}
