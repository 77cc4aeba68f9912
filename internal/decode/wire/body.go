package wire

import (
	"slices"
	"strings"

	"streamer/internal/jsonscan"
)

// Body reads the members of an object that is not a stream event. It keeps the
// first Problem, which names the field.
type Body struct {
	Writer  *Writer
	Problem *Problem
}

// Open reads data as one JSON object. If optional is true, an empty input is an
// empty object.
func (b *Body) Open(data []byte, what string, optional bool) jsonscan.Value {
	text := Trim(Alias(data))
	if text == "" {
		if !optional {
			b.Fail(WrongShape("the %s is empty", what))
		}
		return jsonscan.Value{}
	}
	if p := Check(text); p != nil {
		p.Offset += strings.Index(Alias(data), text)
		b.Fail(p)
		return jsonscan.Value{}
	}
	v := jsonscan.ValueOf(text)
	if !v.IsObject() {
		b.Fail(WrongType("the "+what, v, "an object"))
	}
	return v
}

// Fail records a Problem, unless there is one.
func (b *Body) Fail(p *Problem) {
	if b.Problem == nil {
		b.Problem = p
	}
}

// Text returns a string member. Null and a missing member are "".
func (b *Body) Text(field string, v jsonscan.Value) string {
	if v.Present() && !v.IsString() {
		b.Fail(WrongType(field, v, "a string"))
		return ""
	}
	return b.Writer.Text(v)
}

// OneOf returns a string that is one of those allowed, and fails at any other.
func (b *Body) OneOf(field, got string, allowed ...string) string {
	if slices.Contains(allowed, got) {
		return got
	}
	b.Fail(WrongShape("%s is %q, not one of %q", field, Clip(got), allowed))
	return ""
}

// BOM is a byte order mark.
const BOM = "\ufeff"

// Trim returns a text without the white space around it and without a byte
// order mark at its beginning.
func Trim(s string) string {
	if s != "" && (s[0] == '{' || s[0] == '[') && (s[len(s)-1] == '}' || s[len(s)-1] == ']') {
		return s // the usual case
	}
	return strings.Trim(strings.TrimPrefix(s, BOM), " \t\r\n")
}
