package wire

import (
	"strings"

	"streamer/internal/jsonscan"
)

// Member is a member of an object.
type Member struct {
	Key   string // without escapes
	Value jsonscan.Value
}

// Scan holds the members of a frame that were visited, so that they are scanned once
// although several formats read them. The zero value is ready to use. A Scan that is
// used again reuses its memory.
type Scan struct {
	list   []Member // the first members
	rest   jsonscan.Cursor
	shared bool
	last   Member // of rest, where the Scan is not shared
}

const maxShared = 64

// Share makes all readers of the frame use a Scan. It must not be used for another frame
// as long as this one is in use.
func (f *Frame) Share(s *Scan) {
	clear(s.list) // it would keep an input in memory
	s.list, s.rest, s.shared = s.list[:0], f.JSON.Members(), true
	f.scan = s
}

// Members returns the members of the JSON.
func (f Frame) Members() Members {
	if f.scan == nil {
		return Members{scan: &Scan{rest: f.JSON.Members()}}
	}
	return Members{scan: f.scan}
}

// Read assigns the members of the JSON to fields, as jsonscan.Value.Read does.
func (f Frame) Read(fields ...jsonscan.Field) {
	at := 0
	for m := f.Members(); m.Next(); {
		at, _ = jsonscan.Assign(fields, at, m.Key, &m.Value)
	}
}

// Type returns the member "type" of the JSON, or "".
func (f Frame) Type() string {
	for m := f.Members(); m.Next(); {
		if m.Key == "type" {
			return m.Value.Str
		}
	}
	return ""
}

// Members visits the members of the JSON of a frame in order, as jsonscan.Cursor does.
type Members struct {
	*Member

	scan *Scan
	at   int // of the next member in the list of the Scan
}

// Next moves to the following member and reports whether there is one.
func (m *Members) Next() bool {
	if m.at < len(m.scan.list) {
		m.Member = &m.scan.list[m.at]
		m.at++
		return true
	}
	return m.next()
}

func (m *Members) next() bool {
	if m.at == maxShared {
		m.scan, m.at = &Scan{rest: m.scan.rest}, 0
	}
	s := m.scan
	if !s.rest.Next() {
		return false
	}
	m.Member = &s.last
	if s.shared {
		s.list = append(s.list, Member{})
		m.Member = &s.list[m.at]
		m.at++
	}
	m.Key, m.Value = s.rest.Key, s.rest.Value
	return true
}

// Filled reports whether a member of a union has content. Go programs write the members of
// all variants, which are empty, null, or zero if they are of another one.
func Filled(v jsonscan.Value) bool {
	switch v.Kind {
	case jsonscan.Missing, jsonscan.Null:
		return false
	case jsonscan.String:
		return len(v.Raw) > len(`""`)
	case jsonscan.False:
		return false
	case jsonscan.Number:
		return v.Raw != "0"
	case jsonscan.Array:
		e := v.Elements()
		return e.Next()
	case jsonscan.Object:
		for m := v.Members(); m.Next(); {
			if Filled(m.Value) {
				return true
			}
		}
		return false
	}
	return true
}

// Variant returns the value of a union that the Go SDKs of OpenAI and Anthropic write as
// {"OfString":"…","OfList":null,…}, and any other value as it is. A union of objects has
// their members beside those.
func Variant(v jsonscan.Value) jsonscan.Value {
	is, plain := false, false
	for m := v.Members(); m.Next(); {
		switch of := strings.HasPrefix(m.Key, "Of"); {
		case of && Filled(m.Value):
			return m.Value
		case of:
			is = true
		default:
			plain = plain || m.Key != "type" && Filled(m.Value)
		}
	}
	if is && !plain {
		return jsonscan.ValueOf(`""`)
	}
	return v
}
