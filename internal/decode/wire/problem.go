package wire

import (
	"fmt"
	"strings"

	"streamer/internal/jsonscan"
	"streamer/internal/stored"

	"github.com/tidwall/gjson"
)

// Problem describes a part of an input that was not used, and why. The rest of
// the input was used.
type Problem struct {
	Code   Code
	Offset int // in bytes, of the error from the start of the input
	Line   int // 1-based line of an input of several lines, else 0
	Text   string
	Input  uint64 // sequence of the input in which the unused text begins; 0 if not known
}

// Fields visits the members of the stored form.
func (p *Problem) Fields(f *stored.Fields) {
	f.Text("Code", (*string)(&p.Code))
	stored.Number(f, "Offset", &p.Offset)
	stored.Number(f, "Line", &p.Line)
	f.Text("Text", &p.Text)
	stored.Number(f, "Input", &p.Input)
}

// Code is the kind of a Problem.
type Code string

// The codes. They are those of rejected events.
const (
	BadJSON   Code = "bad_json"
	BadUTF8   Code = "bad_utf8"
	BadFormat Code = "unknown_format"
	BadShape  Code = "bad_shape"
	OverLimit Code = "over_limit"
)

// WrongShape returns a Problem with the code BadShape.
func WrongShape(format string, args ...any) *Problem {
	return &Problem{Code: BadShape, Text: fmt.Sprintf(format, args...)}
}

// WrongType returns the Problem that a field is missing, or that its JSON type
// is not the wanted one.
func WrongType(field string, v jsonscan.Value, want string) *Problem {
	if v.Raw == "" {
		return WrongShape("%s is missing; it must be %s", field, want)
	}
	return WrongShape("%s is %s, not %s", field, v.Kind, want)
}

// Check returns the Problem that prevents text from being one JSON value in
// UTF-8, or nil.
func Check(text string) *Problem {
	if at := jsonscan.InvalidUTF8(text); at >= 0 {
		return &Problem{Code: BadUTF8, Offset: at, Text: fmt.Sprintf("byte %#02x is not UTF-8", text[at])}
	}
	if Valid(text) {
		return nil
	}
	err := jsonscan.Check(text)
	if err == nil {
		return nil
	}
	return &Problem{Code: BadJSON, Offset: err.Offset, Text: err.Msg}
}

// Valid reports whether text is one JSON value, nested no deeper than
// jsonscan.MaxDepth. It does not check for UTF-8.
//
// gjson is several times as fast as a Scanner, but it is recursive. It is
// therefore not used for text that may be too deep.
func Valid(text string) bool {
	if strings.Count(text, "{")+strings.Count(text, "[") <= jsonscan.MaxDepth {
		return gjson.Valid(text)
	}
	var s jsonscan.Scanner
	s.Write(text)
	return s.Complete()
}

// maxExcerpt is the maximum number of bytes of an excerpt.
const maxExcerpt = 1 << 10

// Excerpt shortens the text of a progress.
func Excerpt(s string) string {
	if len(s) <= maxExcerpt {
		return s
	}
	return strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
}

// clipped is the maximum number of bytes of a clipped string.
const clipped = 64

// Clip shortens a string for a message.
func Clip(s string) string {
	if len(s) <= clipped {
		return strings.ToValidUTF8(s, "�")
	}
	return strings.ToValidUTF8(s[:clipped], "�") + "…"
}
