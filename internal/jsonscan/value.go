package jsonscan

import "strconv"

// Kind is the type of a JSON value.
type Kind uint8

// The kinds. Missing is the zero value: there is no value at all.
const (
	Missing Kind = iota
	Null
	False
	True
	Number
	String
	Object
	Array
)

// String returns the JSON type with its article.
func (k Kind) String() string {
	switch k {
	case String:
		return "a string"
	case Number:
		return "a number"
	case True, False:
		return "a boolean"
	case Array:
		return "an array"
	case Object:
		return "an object"
	}
	return "null"
}

// Value is a JSON value inside a text that is known to be valid. It shares
// memory with that text.
type Value struct {
	Kind Kind
	Raw  string // the value as written
	Str  string // the content of a string without escapes; "" for any other value
}

// ValueOf returns the value of a text that is exactly one valid JSON value.
func ValueOf(text string) (v Value) {
	if text == "" {
		return v
	}
	switch text[0] {
	case '{':
		return Value{Kind: Object, Raw: text}
	case '[':
		return Value{Kind: Array, Raw: text}
	}
	v.set(text, 0)
	return v
}

// set assigns the valid value that begins at i and returns the offset of its
// end.
func (v *Value) set(s string, i int) (end int) {
	v.Str = ""
	if i >= len(s) {
		v.Kind, v.Raw = Missing, ""
		return i
	}
	switch c := s[i]; c {
	case '"':
		var plain bool
		v.Kind = String
		if end, plain = stringEnd(s, i); plain {
			v.Str = s[i+1 : end-1]
		}
	case '{', '[':
		v.Kind = Object
		if c == '[' {
			v.Kind = Array
		}
		end = nestEnd(s, i)
	default:
		v.Kind = literalKind(c)
		end = literalEnd(s, i)
	}
	v.Raw = s[i:end]
	return end
}

// Present reports whether the value exists and is not null.
func (v Value) Present() bool { return v.Kind > Null }

// IsString reports whether the value is a string.
func (v Value) IsString() bool { return v.Kind == String }

// IsObject reports whether the value is an object.
func (v Value) IsObject() bool { return v.Kind == Object }

// IsArray reports whether the value is an array.
func (v Value) IsArray() bool { return v.Kind == Array }

// IsNested reports whether the value is an object or an array.
func (v Value) IsNested() bool { return v.Kind >= Object }

// Member returns the value of a key of an object. Where the key repeats, it
// returns the last value.
func (v Value) Member(key string) (found Value) {
	for m := v.Members(); m.Next(); {
		if m.Key == key {
			found = m.Value
		}
	}
	return found
}

// Int returns the integer that the value is, or that it spells as a string. It
// returns 0 for anything else.
func (v Value) Int() int {
	s := v.Raw
	if v.Kind == String {
		s = v.Str
	}
	return Int(s)
}

// Int returns the integer that text spells, or 0.
func Int(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func literalKind(c byte) Kind {
	switch c {
	case 't':
		return True
	case 'f':
		return False
	case 'n':
		return Null
	}
	return Number
}

func literalEnd(s string, i int) int {
	for i < len(s) && s[i] > ' ' && s[i] != ',' && s[i] != '}' && s[i] != ']' {
		i++
	}
	return i
}
