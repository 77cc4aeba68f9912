package patch

import (
	"iter"
	"strings"

	"streamer/internal/events"
	"streamer/internal/jsonscan"

	"github.com/tidwall/gjson"
)

// The functions in this file read JSON that is known to be valid. Values that a
// repair does not change are neither decoded nor copied.

// members returns the names and values of a JSON object, none for another value.
func members(object string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for m := valueOf(object).Members(); m.Next(); {
			if !yield(m.Key, m.Value.Raw) {
				return
			}
		}
	}
}

// elements returns the values of a JSON array, none for another value.
func elements(array string) iter.Seq2[int, string] {
	return func(yield func(n int, value string) bool) {
		n := 0
		for e := valueOf(array).Elements(); e.Next(); n++ {
			if !yield(n, e.Value.Raw) {
				return
			}
		}
	}
}

// elementList returns the values of a JSON array, nil for another value.
func elementList(array string) []string {
	var list []string
	for _, e := range elements(array) {
		list = append(list, e)
	}
	return list
}

// isEmpty reports whether a JSON value is not an array with elements.
func isEmpty(array string) bool {
	e := valueOf(array).Elements()
	return !e.Next()
}

// each reports whether a JSON value is an array with elements, and all of them match.
func each(array string, match func(element string) bool) bool {
	for _, e := range elements(array) {
		if !match(e) {
			return false
		}
	}
	return !isEmpty(array)
}

// valueOf returns the JSON value in a text that may begin with white space.
func valueOf(s string) jsonscan.Value { return jsonscan.ValueOf(s[blank(s):]) }

func blank(s string) (i int) {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// member returns the value of a member, "" if there is none. Of several members
// with one name it returns the last, as most JSON readers do.
func member(object, name string) string { return valueOf(object).Member(name).Raw }

// to is where scan puts the value of a member.
type to struct {
	member string
	value  *string
}

// scan sets the values of some members of an object. It leaves those that are absent.
func scan(object string, values ...to) {
	for name, v := range members(object) {
		for i := range values {
			if values[i].member == name {
				*values[i].value = v
			}
		}
	}
}

// text returns the text of a JSON string, "" for null or an empty value, and any
// other value as raw JSON.
func text(value string) string {
	switch {
	case value == "" || value == "null":
		return ""
	case value[0] != '"':
		return value
	case strings.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	}
	return gjson.Parse(value).Str
}

func quote(s string) string { return string(events.Quote(s)) }

// join returns the JSON string that has head before the text of the JSON string
// value, whose bytes stay.
func join(head, value string) string {
	h := quote(head)
	return h[:len(h)-1] + value[1:]
}
