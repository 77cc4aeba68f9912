package patch

import (
	"encoding/json"
	"iter"
	"strings"

	"github.com/tidwall/gjson"
)

// The functions in this file read JSON that is known to be valid, by offsets.
// Values that a repair does not change are neither decoded nor copied.

// members returns the names and values of a JSON object, none for another value.
func members(object string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for i := first(object, '{'); i < len(object); {
			end := skip(object, i)
			from := blank(object, blank(object, end)+1)
			to := skip(object, from)
			if !yield(text(object[i:end]), object[from:to]) {
				return
			}
			i = next(object, to)
		}
	}
}

// elements returns the values of a JSON array, none for another value.
func elements(array string) iter.Seq2[int, string] {
	return func(yield func(n int, value string) bool) {
		n := 0
		for i := first(array, '['); i < len(array); n++ {
			end := skip(array, i)
			if !yield(n, array[i:end]) {
				return
			}
			i = next(array, end)
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

// first returns the offset of the first item of the array or object s, len(s) if
// there is none.
func first(s string, open byte) int {
	i := blank(s, 0)
	if i >= len(s) || s[i] != open {
		return len(s)
	}
	i = blank(s, i+1)
	if s[i] == ']' || s[i] == '}' {
		return len(s)
	}
	return i
}

// next returns the offset of the item after the one that ends at i, len(s) if there
// is none.
func next(s string, i int) int {
	i = blank(s, i)
	if s[i] != ',' {
		return len(s)
	}
	return blank(s, i+1)
}

// blank returns the offset of the first byte from i on that is not white space.
func blank(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// skip returns the end of the value that begins at i.
func skip(s string, i int) int {
	switch s[i] {
	case '"':
		return skipString(s, i)
	case '{', '[':
		return skipNested(s, i)
	}
	for i < len(s) && strings.IndexByte(" \n\t\r,]}", s[i]) < 0 {
		i++
	}
	return i
}

func skipString(s string, i int) int {
	for i++; ; i++ {
		n := strings.IndexByte(s[i:], '"')
		i += n
		escapes := 0
		for s[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

func skipNested(s string, i int) int {
	for depth := 0; ; i++ {
		switch s[i] {
		case '"':
			i = skipString(s, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// member returns the value of a member, "" if there is none. Of several members
// with one name it returns the last, as most JSON readers do.
func member(object, name string) string {
	found := ""
	for n, v := range members(object) {
		if n == name {
			found = v
		}
	}
	return found
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

// quote returns a JSON string without HTML escapes.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // cannot happen for a string
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// join returns the JSON string that has head before the text of the JSON string
// value, whose bytes stay.
func join(head, value string) string {
	h := quote(head)
	return h[:len(h)-1] + value[1:]
}
