package decode

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"streamer/internal/jsonscan"

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
	err := jsonscan.Check(text)
	if err == nil {
		return nil
	}
	return &Problem{Code: BadJSON, Offset: err.Offset, Text: err.Msg}
}

// jsonText tells whether text is one JSON value, nested no deeper than
// jsonscan.MaxDepth. gjson is several times as fast as the Scanner, but checks
// by recursion: it gets only what cannot be too deep.
func jsonText(text string) bool {
	if strings.Count(text, "{")+strings.Count(text, "[") <= jsonscan.MaxDepth {
		return gjson.Valid(text)
	}
	var s jsonscan.Scanner
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
