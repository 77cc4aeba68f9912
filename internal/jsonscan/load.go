package jsonscan

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
)

// Fields is a pointer to a struct that Load can fill.
type Fields interface {
	// Field returns a pointer to the field with a key, or nil if there is none.
	Field(key string) any
}

// List is a slice that Load can fill: (*List[T])(&slice).
type List[T any] []T

func (l *List[T]) add() any {
	var zero T
	*l = append(*l, zero)
	return &(*l)[len(*l)-1]
}

// Pointers is a slice of pointers that Load can fill.
type Pointers[T any] []*T

func (l *Pointers[T]) add() any {
	p := new(T)
	*l = append(*l, p)
	return p
}

// Load sets what dst points to, as json.Unmarshal does, in a fraction of its time. It
// supports the values that json.Marshal writes. It reports false for any other one, and
// then has set a part. The text must be valid JSON and UTF-8. It copies what it keeps.
func (v Value) Load(dst any) bool {
	switch p := dst.(type) {
	case nil:
		return false
	case *string:
		if v.Kind == String && (v.Str != "" || v.Raw == `""`) {
			*p = strings.Clone(v.Str)
			return true
		}
		return v.standard(dst)
	case *bool:
		*p = v.Kind == True
		return v.Kind == True || v.Kind == False
	case *int:
		n, err := strconv.ParseInt(v.Raw, 10, strconv.IntSize)
		*p = int(n)
		return err == nil
	case *uint8:
		n, err := strconv.ParseUint(v.Raw, 10, 8)
		*p = uint8(n)
		return err == nil
	case *uint32:
		n, err := strconv.ParseUint(v.Raw, 10, 32)
		*p = uint32(n)
		return err == nil
	case *uint64:
		n, err := strconv.ParseUint(v.Raw, 10, 64)
		*p = n
		return err == nil
	case *[]byte:
		b, err := base64.StdEncoding.DecodeString(v.Str)
		*p = b
		return err == nil && v.Str != ""
	case Fields:
		return v.loadFields(p)
	case interface{ add() any }:
		return v.loadList(p)
	case encoding.TextUnmarshaler:
		return v.Str != "" && p.UnmarshalText([]byte(v.Str)) == nil
	}
	return v.standard(dst)
}

func (v Value) loadFields(p Fields) bool {
	for m := v.Members(); m.Next(); {
		if !m.Value.Load(p.Field(m.Key)) {
			return false
		}
	}
	return v.Kind == Object
}

func (v Value) loadList(p interface{ add() any }) bool {
	for e := v.Elements(); e.Next(); {
		if !e.Value.Load(p.add()) {
			return false
		}
	}
	return v.Kind == Array
}

// standard sets a rare value.
func (v Value) standard(dst any) bool { return json.Unmarshal([]byte(v.Raw), dst) == nil }
