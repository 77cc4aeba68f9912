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
	case s.depth == 0 && in >= inZero && in <= inExponent && wants[in] == "":
		return show(b) + " behind a top-level number"
	}
	return show(b) + " where " + s.wanted(in) + " is expected"
}

func (s *Scanner) wanted(in state) string {
	if want := wants[in]; want != "" {
		return want
	}
	if s.open&1 == 1 {
		return "a comma or }"
	}
	return "a comma or ]"
}

// wants describes the bytes that each state allows. A state without an entry
// allows a comma or the end of the array or object. It is never changed.
var wants = [states]string{
	atStart:       "a JSON value",
	wantValue:     "a JSON value",
	wantFirstItem: "a JSON value or ]",
	wantFirstKey:  "a key in double quotes or }",
	wantKey:       "a key in double quotes",
	wantColon:     "a colon",
	afterAll:      "nothing more",
	inEscape:      "the rest of an escape",
	hex4:          "a hex digit",
	hex3:          "a hex digit",
	hex2:          "a hex digit",
	hex1:          "a hex digit",
	afterMinus:    "a digit",
	afterPoint:    "a digit",
	afterE:        "a digit or a sign",
	afterESign:    "a digit",
	inT:           "the rest of true",
	inTr:          "the rest of true",
	inTru:         "the rest of true",
	inF:           "the rest of false",
	inFa:          "the rest of false",
	inFal:         "the rest of false",
	inFals:        "the rest of false",
	inN:           "the rest of null",
	inNu:          "the rest of null",
	inNul:         "the rest of null",
}

func show(b byte) string {
	if b < 0x20 || b >= 0x7F {
		return fmt.Sprintf("byte 0x%02X", b)
	}
	return strconv.QuoteRune(rune(b))
}
