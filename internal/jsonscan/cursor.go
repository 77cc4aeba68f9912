package jsonscan

import (
	"encoding/json"
	"math/bits"
	"strings"
)

// Cursor visits the members of an object or the elements of an array in order,
// without allocating:
//
//	for m := v.Members(); m.Next(); {
//		switch m.Key { case "id": … m.Value … }
//	}
//
// The text must be valid JSON.
type Cursor struct {
	Key    string // of a member, without escapes
	RawKey string // of a member, as written
	Value  Value

	raw string
	at  int // of the next member; 0 after the last one
}

// Members returns a Cursor over the members of an object. Any other value has
// no members.
func (v Value) Members() Cursor {
	if v.Kind != Object {
		return Cursor{}
	}
	return Cursor{raw: v.Raw, at: 1}
}

// FirstKey returns the key of the first member of an object, or "". It does not search
// for the end of the member's value.
func (v Value) FirstKey() string {
	c := v.Members()
	if i := c.separator(c.at); i < len(c.raw) && c.raw[i] == '"' {
		c.setKey(i)
	}
	return c.Key
}

// IsEmpty reports whether the value is an object without members.
func (v Value) IsEmpty() bool {
	c := v.Members()
	i := c.separator(c.at)
	return v.Kind == Object && (i >= len(c.raw) || c.raw[i] == '}')
}

// Elements returns a Cursor over the elements of an array. Any other value has
// no elements.
func (v Value) Elements() Cursor {
	if v.Kind != Array {
		return Cursor{}
	}
	return Cursor{raw: v.Raw, at: 1}
}

// Next moves to the following member and reports whether there is one.
func (c *Cursor) Next() bool {
	if c.at == 0 {
		return false
	}
	i := c.separator(c.at)
	if i >= len(c.raw) || c.raw[i] == '}' || c.raw[i] == ']' {
		c.at = 0
		return false
	}
	if c.raw[0] == '{' {
		i = c.separator(c.setKey(i))
	}
	c.at = c.Value.set(c.raw, i)
	return true
}

// setKey assigns the key that begins at i and returns the offset of its end.
func (c *Cursor) setKey(i int) (end int) {
	end, plain := stringEnd(c.raw, i)
	c.RawKey = c.raw[i:end]
	if plain {
		c.Key = c.RawKey[1 : len(c.RawKey)-1]
	} else {
		c.Key = unquoted(c.RawKey)
	}
	return end
}

// unquoted returns the text of a string. Half of a surrogate pair becomes U+FFFD.
func unquoted(raw string) (text string) {
	_ = json.Unmarshal([]byte(raw), &text)
	return text
}

// Offset returns the offset of the current value in the object or array.
func (c *Cursor) Offset() int { return c.at - len(c.Value.Raw) }

// Rest returns the next value, which the caller knows to be the last one,
// without searching for its end.
func (c *Cursor) Rest() Value {
	i := c.separator(c.at)
	if c.at == 0 || i >= len(c.raw) {
		return Value{}
	}
	return ValueOf(strings.TrimRight(c.raw[i:len(c.raw)-1], " \t\r\n"))
}

// separator returns the offset of the first byte from i on that is neither
// white space nor a comma or colon.
func (c *Cursor) separator(i int) int {
	for i < len(c.raw) && (c.raw[i] <= ' ' || c.raw[i] == ',' || c.raw[i] == ':') {
		i++
	}
	return i
}

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

// shortString is the number of bytes of a string that are examined eight at once. Most
// strings end earlier. On longer ones strings.IndexByte is faster.
const shortString = 32

// StringEnd returns the offset after the closing quote of the string whose
// opening quote is at i. The text must be valid JSON.
func StringEnd(s string, i int) int {
	end, _ := stringEnd(s, i)
	return end
}

// stringEnd returns the offset after the closing quote of the string whose
// opening quote is at i. It reports whether the string is closed and has no
// escapes.
func stringEnd(s string, i int) (end int, plain bool) {
	plain = true
	j := i + 1
	for stop := j + shortString; j < stop && len(s)-j >= 8; {
		const ones, highs = 0x0101010101010101, 0x8080808080808080
		w := load8(s[j:])
		quote, slash := w^ones*'"', w^ones*'\\'
		// The lowest bit set is exact. A higher one may be false, because of a borrow.
		special := ((quote-ones)&^quote | (slash-ones)&^slash) & highs
		if special == 0 {
			j += 8
			continue
		}
		j += bits.TrailingZeros64(special) / 8
		if s[j] == '"' {
			return j + 1, plain
		}
		plain = false
		j += 2
	}
	return longStringEnd(s, j, plain)
}

// longStringEnd returns the offset after the closing quote of a string, from j on,
// which is not escaped.
func longStringEnd(s string, j int, plain bool) (end int, _ bool) {
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

// escapedAt reports whether an odd number of backslashes precedes i. The byte
// at from is not escaped.
func escapedAt(s string, i, from int) bool {
	n := 0
	for i--; i >= from && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// TooDeep returns the offset of the first bracket that opens more than limit
// levels, or -1. The text need not be valid JSON.
func TooDeep(text string, limit int) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = StringEnd(text, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// TokenLen returns the length of the string, number or other byte that text
// begins with. The text need not be valid JSON; a string may lack its end.
func TokenLen[T string | []byte](text T) int {
	number := text[0] == '-' || text[0] >= '0' && text[0] <= '9'
	if text[0] != '"' && !number {
		return 1
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case number && (c < '0' || c > '9') && strings.IndexByte(".eE+-", c) < 0:
			return i
		case number:
		case c == '\\':
			i++
		case c == '"':
			return i + 1
		}
	}
	return len(text)
}

// AppendCompact appends a valid JSON text to dst without the white space
// between its tokens. It reports whether there was any; otherwise it appends
// nothing.
func AppendCompact(dst []byte, raw string) (_ []byte, changed bool) {
	kept := 0 // raw[kept:i] is not copied yet
	for i := 0; i < len(raw); {
		switch {
		case raw[i] == '"':
			i = StringEnd(raw, i)
		case raw[i] <= ' ':
			dst = append(dst, raw[kept:i]...)
			i++
			kept, changed = i, true
		default:
			i++
		}
	}
	if changed {
		dst = append(dst, raw[kept:]...)
	}
	return dst, changed
}

// Field is a member that is read: the value of Key is assigned to To.
type Field struct {
	Key string
	To  *Value
}

// From returns the Field that assigns the member with a key to v.
func (v *Value) From(key string) Field { return Field{key, v} }

// Read assigns members of an object to variables, the last one where a key repeats:
//
//	v.Read(id.From("id"), name.From("name"))
func (v Value) Read(fields ...Field) {
	at := 0
	for m := v.Members(); m.Next(); {
		at, _ = Assign(fields, at, m.Key, &m.Value)
	}
}

// Assign assigns a member to the field with its key and reports whether there is one. The
// search begins at a position, and Assign returns the one for the next member: members
// mostly come in the order of the fields.
func Assign(fields []Field, at int, key string, v *Value) (next int, found bool) {
	for range fields {
		if at >= len(fields) {
			at = 0
		}
		f := &fields[at]
		at++
		if f.Key == key {
			*f.To = *v
			return at, true
		}
	}
	return at, false
}
