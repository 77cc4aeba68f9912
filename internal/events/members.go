package events

import "strconv"

// members appends the members of a JSON object, as encoding/json writes them without
// escapes for HTML. Text and Flag leave out empty values.
type members struct {
	B   []byte // ends with the beginning of the object, or with a member
	Err error  // the first that was passed to Fail
}

// Fail keeps the first error.
func (m *members) Fail(err error) {
	if m.Err == nil {
		m.Err = err
	}
}

// Key appends the name of a member, whose value follows.
func (m *members) Key(name string) {
	if m.B[len(m.B)-1] != '{' {
		m.B = append(m.B, ',')
	}
	m.B = append(m.B, '"')
	m.B = append(m.B, name...)
	m.B = append(m.B, '"', ':')
}

func (m *members) Always(name, s string) {
	m.Key(name)
	m.B = AppendQuoted(m.B, s)
}

// Text appends a string that is not empty.
func (m *members) Text(name, s string) {
	if s != "" {
		m.Always(name, s)
	}
}

// Flag appends true, or nothing.
func (m *members) Flag(name string, set bool) {
	if set {
		m.Key(name)
		m.B = append(m.B, "true"...)
	}
}

func (m *members) Number(name string, n int64) {
	m.Key(name)
	m.B = strconv.AppendInt(m.B, n, 10)
}

func (m *members) Time(name string, t Time) {
	m.Key(name)
	m.B = append(m.B, '"')
	m.B = t.append(m.B)
	m.B = append(m.B, '"')
}

func (m *members) List(name string, list []string) {
	m.Key(name)
	m.B = append(m.B, '[')
	for i, s := range list {
		if i > 0 {
			m.B = append(m.B, ',')
		}
		m.B = AppendQuoted(m.B, s)
	}
	m.B = append(m.B, ']')
}
