package decode

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/nearest"
)

// maxNamed is the maximum number of calls in one field of an interrupt: the default
// maximum of open calls in a session.
const maxNamed = 1000

type body struct{ wire.Body }

func newBody() body { return body{wire.Body{Writer: new(wire.Writer)}} }

// only fails at the first member that is not one of the fields, and at the first
// repeated member.
func (b *body) only(v jsonscan.Value, what string, fields ...string) {
	if unknown, ok := stray(v, fields); ok {
		b.Fail(&wire.Problem{Code: wire.BadShape, Text: noField(what, unknown, fields)})
	}
	b.once(v, what, fields)
}

// once fails at the first repeated field. Otherwise the parser would decide which of
// the values is used.
func (b *body) once(v jsonscan.Value, what string, fields []string) {
	seen := make([]bool, len(fields))
	for m := v.Members(); m.Next(); {
		i := slices.Index(fields, m.Key)
		if i < 0 {
			continue
		}
		if seen[i] {
			b.Fail(wire.WrongShape("the %s has %s twice", what, m.Key))
			return
		}
		seen[i] = true
	}
}

func stray(v jsonscan.Value, fields []string) (key string, ok bool) {
	for m := v.Members(); m.Next(); {
		if !slices.Contains(fields, m.Key) {
			return m.Key, true
		}
	}
	return "", false
}

// noField returns the text that a body has no field of this name, with the nearest
// name that it has.
func noField(what, key string, fields []string) string {
	return fmt.Sprintf("the %s has no field %q; did you mean %s? Its fields are %s",
		what, wire.Clip(key), nearest.Name(key, fields), strings.Join(fields, ", "))
}

// word returns a member that is a string. It fails at null.
func (b *body) word(field string, v jsonscan.Value) string {
	if v.Kind != jsonscan.String {
		b.Fail(wire.WrongType(field, v, "a string"))
		return ""
	}
	return b.Writer.Text(v)
}

// target returns a member that is a name. It fails at null and at "".
func (b *body) target(field string, v jsonscan.Value) string {
	s := b.word(field, v)
	if s == "" {
		b.Fail(wire.WrongShape("%s is empty; it must name what to close, or be left out", field))
	}
	return s
}

// targets returns a member that is a list of names. It fails at null, at an empty list
// and at an empty name.
func (b *body) targets(field string, v jsonscan.Value) (list []string) {
	if !v.IsArray() {
		b.Fail(wire.WrongType(field, v, "a list of strings"))
		return nil
	}
	for e := v.Elements(); e.Next(); {
		if len(list) == maxNamed {
			b.Fail(wire.WrongShape("%s has more than %d elements; send several interrupts", field, maxNamed))
			return nil
		}
		list = append(list, b.target(fmt.Sprintf("%s[%d]", field, len(list)), e.Value))
	}
	if len(list) == 0 {
		b.Fail(wire.WrongShape("%s is an empty list; it must name what to close, or be left out", field))
	}
	return list
}
