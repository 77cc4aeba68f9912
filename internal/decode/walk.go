package decode

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// members walks the members of a JSON object that is known to be valid, in
// order, without allocating:
//
//	for m := members(v); m.next(); {
//		switch m.key { case "id": … m.value … }
//	}
//
// gjson's own ForEach unescapes every string it passes, which costs an
// allocation per delta and loses lone surrogates. A value has Type, Raw and,
// where it is a string without escapes, Str; (*Reader).text reads any string.
// What is no object has no members.
func members(v gjson.Result) walker { return walk(v, '{') }

// elements walks the elements of a JSON array in the same way; key stays "".
func elements(v gjson.Result) walker { return walk(v, '[') }

type walker struct {
	raw    string
	at     int // of the next member; 0 when over
	key    string
	rawKey string // with its quotes
	value  gjson.Result
}

func walk(v gjson.Result, open byte) walker {
	if v.Type != gjson.JSON || v.Raw == "" || v.Raw[0] != open {
		return walker{}
	}
	return walker{raw: v.Raw, at: 1}
}

// next steps to the following member, and tells whether there is one.
func (w *walker) next() bool {
	if w.at == 0 {
		return false
	}
	i := w.separator(w.at)
	if i >= len(w.raw) || w.raw[i] == '}' || w.raw[i] == ']' {
		w.at = 0
		return false
	}
	if w.raw[0] == '{' {
		end := stringEnd(w.raw, i)
		w.rawKey = w.raw[i:end]
		w.key = keyText(w.rawKey)
		i = w.separator(end)
	}
	end := valueEnd(w.raw, i)
	w.value = valueOf(w.raw[i:end])
	w.at = end
	return true
}

// separator gives the place of the first byte from i on that is neither white
// space nor one of the signs between members.
func (w *walker) separator(i int) int {
	for i < len(w.raw) && (w.raw[i] <= ' ' || w.raw[i] == ',' || w.raw[i] == ':') {
		i++
	}
	return i
}

// valueEnd gives the end of the valid value that begins at i.
func valueEnd(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		return nestEnd(s, i)
	}
	for i < len(s) && s[i] > ' ' && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

func nestEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = stringEnd(s, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(s)
}

// stringEnd gives the place behind the closing quote of the string whose
// opening quote stands at i.
func stringEnd(s string, i int) int {
	for j := i + 1; j < len(s); {
		n := strings.IndexByte(s[j:], '"')
		if n < 0 {
			return len(s)
		}
		j += n + 1
		if !escapedAt(s, j-1, i+1) {
			return j
		}
	}
	return len(s)
}

// escapedAt tells whether an odd number of backslashes stands before i.
func escapedAt(s string, i, from int) bool {
	n := 0
	for i--; i >= from && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// valueOf types a valid value.
func valueOf(raw string) gjson.Result {
	v := gjson.Result{Raw: raw}
	if raw == "" {
		return v
	}
	switch raw[0] {
	case '"':
		v.Type = gjson.String
		if len(raw) >= 2 && strings.IndexByte(raw, '\\') < 0 {
			v.Str = raw[1 : len(raw)-1]
		}
	case '{', '[':
		v.Type = gjson.JSON
	case 't':
		v.Type = gjson.True
	case 'f':
		v.Type = gjson.False
	case 'n':
		v.Type = gjson.Null
	default:
		v.Type = gjson.Number
	}
	return v
}

func keyText(raw string) string {
	if strings.IndexByte(raw, '\\') >= 0 {
		return gjson.Parse(raw).Str
	}
	return raw[1 : len(raw)-1]
}

// member gives the value of a key of an object; the last one, where the key
// repeats.
func member(v gjson.Result, key string) (found gjson.Result) {
	for m := members(v); m.next(); {
		if m.key == key {
			found = m.value
		}
	}
	return found
}

// integer reads a JSON number, or a string that holds one, as an int; else 0.
func integer(v gjson.Result) int {
	s := v.Raw
	if v.Type == gjson.String {
		s = v.Str
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// present tells a value from an absent one and from null.
func present(v gjson.Result) bool { return v.Raw != "" && v.Type != gjson.Null }

func isObject(v gjson.Result) bool { return v.Type == gjson.JSON && v.Raw[0] == '{' }
func isArray(v gjson.Result) bool  { return v.Type == gjson.JSON && v.Raw[0] == '[' }

// compact gives a valid JSON text without the white space around its signs. It
// copies, into scratch, only where there is some.
func (r *Reader) compact(raw string) string {
	start, kept := len(r.scratch), 0 // raw[kept:i] is not copied yet
	copied := false
	for i := 0; i < len(raw); {
		switch {
		case raw[i] == '"':
			i = stringEnd(raw, i)
		case raw[i] <= ' ':
			r.scratch = append(r.scratch, raw[kept:i]...)
			i++
			kept, copied = i, true
		default:
			i++
		}
	}
	if !copied {
		return raw
	}
	r.scratch = append(r.scratch, raw[kept:]...)
	return alias(r.scratch[start:])
}
