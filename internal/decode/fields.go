package decode

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/nearest"

	"github.com/tidwall/gjson"
)

// maxNamed bounds how many calls one interrupt names in one field: as many as a
// session may have open by default.
const maxNamed = 1000

// only fails at the first member that is not one of the fields, and at the
// first that stands twice.
func (b *body) only(v gjson.Result, what string, fields ...string) {
	if unknown, ok := stray(v, fields); ok {
		b.fail(&Problem{Code: BadShape, Text: noField(what, unknown, fields)})
	}
	b.once(v, what, fields)
}

// once fails at the first of the fields that stands twice: which of its values
// counts would depend on the reader.
func (b *body) once(v gjson.Result, what string, fields []string) {
	seen := make([]bool, len(fields))
	for m := members(v); m.next(); {
		i := slices.Index(fields, m.key)
		if i < 0 {
			continue
		}
		if seen[i] {
			b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("the %s has %s twice", what, m.key)})
			return
		}
		seen[i] = true
	}
}

// stray returns the key of the first member that is not one of the fields.
func stray(v gjson.Result, fields []string) (key string, ok bool) {
	for m := members(v); m.next(); {
		if !slices.Contains(fields, m.key) {
			return m.key, true
		}
	}
	return "", false
}

// noField says that a body has no such field, and which one may be meant.
func noField(what, key string, fields []string) string {
	return fmt.Sprintf("the %s has no field %q; did you mean %s? Its fields are %s",
		what, clip(key), nearest.Name(key, fields), strings.Join(fields, ", "))
}

// word returns a member that is a string, and fails at null.
func (b *body) word(field string, v gjson.Result) string {
	if v.Type != gjson.String {
		b.fail(wrongType(field, v, "a string"))
		return ""
	}
	return b.r.text(v)
}

// target returns a member that names something, and fails at null and "".
func (b *body) target(field string, v gjson.Result) string {
	s := b.word(field, v)
	if s == "" {
		b.fail(&Problem{Code: BadShape, Text: field + " is empty; it must name what to close, or be left out"})
	}
	return s
}

// targets returns a member that is a list of names, and fails at null, at an
// empty list and at an empty name.
func (b *body) targets(field string, v gjson.Result) (list []string) {
	if !isArray(v) {
		b.fail(wrongType(field, v, "a list of strings"))
		return nil
	}
	for e := elements(v); e.next(); {
		if len(list) == maxNamed {
			b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("%s has more than %d elements; send several interrupts", field, maxNamed)})
			return nil
		}
		list = append(list, b.target(fmt.Sprintf("%s[%d]", field, len(list)), e.value))
	}
	if len(list) == 0 {
		b.fail(&Problem{Code: BadShape, Text: field + " is an empty list; it must name what to close, or be left out"})
	}
	return list
}
