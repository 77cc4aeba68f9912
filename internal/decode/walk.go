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
		end, plain := stringEnd(w.raw, i)
		if w.rawKey = w.raw[i:end]; plain {
			w.key = w.rawKey[1 : len(w.rawKey)-1]
		} else {
			w.key = gjson.Parse(w.rawKey).Str
		}
		i = w.separator(end)
	}
	w.at = setValue(&w.value, w.raw, i)
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

// setValue makes v the valid value that begins at i, and gives its end. Only
// Type, Raw and Str are set; the other fields are never.
func setValue(v *gjson.Result, s string, i int) int {
	v.Str = ""
	if i >= len(s) {
		v.Type, v.Raw = gjson.Null, ""
		return i
	}
	var end int
	switch s[i] {
	case '"':
		var plain bool
		end, plain = stringEnd(s, i)
		if v.Type = gjson.String; plain {
			v.Str = s[i+1 : end-1]
		}
	case '{', '[':
		end = nestEnd(s, i)
		v.Type = gjson.JSON
	default:
		end = wordEnd(s, i)
		v.Type = wordType(s[i])
	}
	v.Raw = s[i:end]
	return end
}

// valueOf types a text that is one valid value.
func valueOf(text string) (v gjson.Result) {
	if text != "" && (text[0] == '{' || text[0] == '[') {
		v.Type, v.Raw = gjson.JSON, text
		return v
	}
	setValue(&v, text, 0)
	return v
}

func wordEnd(s string, i int) int {
	for i < len(s) && s[i] > ' ' && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}

func wordType(c byte) gjson.Type {
	switch c {
	case 't':
		return gjson.True
	case 'f':
		return gjson.False
	case 'n':
		return gjson.Null
	}
	return gjson.Number
}

// nestEnd gives the end of the object or array that begins at i.
func nestEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i, _ = stringEnd(s, i)
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

// shortString is how far a string is searched byte by byte. Most end before;
// on long ones the vector instructions behind IndexByte pay.
const shortString = 24

// stringEnd gives the place behind the closing quote of the string whose
// opening quote stands at i, and whether the string is closed and has no
// escapes.
func stringEnd(s string, i int) (end int, plain bool) {
	plain = true
	j := i + 1
	for stop := min(len(s), j+shortString); j < stop; j++ {
		switch s[j] {
		case '"':
			return j + 1, plain
		case '\\':
			plain = false
			j++
		}
	}
	for from := j; j < len(s); {
		n := strings.IndexByte(s[j:], '"')
		if n < 0 {
			break
		}
		j += n + 1
		if !escapedAt(s, j-1, from) {
			return j, plain && strings.IndexByte(s[from:j], '\\') < 0
		}
		plain = false
	}
	return len(s), false
}

// escapedAt tells whether an odd number of backslashes stands before i, from
// the place from on, which is not escaped itself.
func escapedAt(s string, i, from int) bool {
	n := 0
	for i--; i >= from && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
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
			i, _ = stringEnd(raw, i)
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
