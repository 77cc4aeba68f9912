package decode

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// checkJSON says what keeps text from being one JSON value in UTF-8.
func checkJSON(text string) *Problem {
	if !utf8.ValidString(text) {
		at := badUTF8(text)
		return &Problem{Code: BadUTF8, Offset: at, Text: fmt.Sprintf("byte %#02x is not UTF-8", text[at])}
	}
	if jsonText(text) {
		return nil
	}
	var s chunks.Scanner
	switch s.Write(text) {
	case chunks.Done, chunks.May:
		return nil
	case chunks.More:
		return &Problem{Code: BadJSON, Offset: len(text), Text: "the JSON text ends before it is complete"}
	}
	what, _, _ := strings.Cut(s.Err(), " at offset ")
	return &Problem{Code: BadJSON, Offset: s.Offset(), Text: what}
}

// jsonText tells whether text is one JSON value, nested no deeper than
// chunks.MaxDepth. gjson is several times as fast as the Scanner, but checks
// by recursion: it gets only what cannot be too deep.
func jsonText(text string) bool {
	if strings.Count(text, "{")+strings.Count(text, "[") <= chunks.MaxDepth {
		return gjson.Valid(text)
	}
	var s chunks.Scanner
	s.Write(text)
	return s.Complete()
}

// badUTF8 gives the place of the first byte that is not UTF-8.
func badUTF8(s string) int {
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return len(s)
}

// wrongType says that a field is missing, or of another JSON type than want.
func wrongType(field string, v gjson.Result, want string) *Problem {
	if v.Raw == "" {
		return &Problem{Code: BadShape, Text: fmt.Sprintf("%s is missing; it must be %s", field, want)}
	}
	return &Problem{Code: BadShape, Text: fmt.Sprintf("%s is %s, not %s", field, typeName(v), want)}
}
