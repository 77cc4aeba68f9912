package decode

import (
	"fmt"
	"strings"
	"unicode/utf8"

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
	return &Problem{Code: BadJSON, Text: "not JSON"}
}

const maxDepth = 10_000

// jsonText tells whether text is one JSON value, nested no deeper than
// maxDepth. gjson checks by recursion, so the depth is bounded first.
func jsonText(text string) bool {
	return strings.Count(text, "{")+strings.Count(text, "[") <= maxDepth && gjson.Valid(text)
}

func badUTF8(s string) int {
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return len(s)
}

// wrongType says that a field is of another JSON type than it must be.
func wrongType(field string, v gjson.Result, want string) *Problem {
	return &Problem{Code: BadShape, Text: fmt.Sprintf("%s is a %s, not %s", field, typeName(v), want)}
}
