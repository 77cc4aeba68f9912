package chunks

import (
	"errors"
	"slices"
	"strings"
)

// Limits bound what a Message takes.
type Limits struct {
	Calls     int // per message
	ArgsBytes int // per call
	NameBytes int // of an id or a name
}

// The errors of Add. The Message is as it was before the fragment, but that a
// call of which ErrArgs refuses a fragment is Cut, and that the rest of a call
// that was refused is refused, too.
var (
	ErrCalls = errors.New("chunks: too many calls in one message")
	ErrArgs  = errors.New("chunks: args of a call are too long")
	ErrName  = errors.New("chunks: id or name of a call is too long")
	// ErrRest: the fragment goes on with a call that was refused.
	ErrRest = errors.New("chunks: the rest of a call that was refused")
	// ErrEnd is no limit: bytes came for a call whose args are complete.
	ErrEnd = errors.New("chunks: bytes after the end of a call's args")
	// ErrClosed: bytes came for a call that was closed before its args were complete.
	ErrClosed = errors.New("chunks: bytes of a call that was closed")
)

// Message assembles the calls of one message and choice from its fragments,
// in the order they come. The zero value is ready. Its rules are about what
// real providers send: an index is an opaque key, ids and names come late,
// twice or never, and args may be resent whole.
type Message struct {
	Calls []Call `json:"calls,omitempty"` // in order of first appearance
	// Latest is the position in Calls of the call that was touched last.
	Latest int `json:"latest,omitempty"`
	// Lost: a call was refused, and what names no other goes on with it.
	Lost bool `json:"lost,omitempty"`
	// LostAt are the indexes, or where those are missing the ids, of the calls
	// that were refused last: what comes there without a name is their rest.
	LostAt []string `json:"lost_at,omitempty"`
}

// keptLost and keptPlace bound LostAt.
const (
	keptLost  = 16
	keptPlace = 1 << 10
)

// Add puts a fragment where it belongs and gives the position of its call in
// Calls, and whether the fragment opened it. With an error it gives the
// position of the call the fragment was for, -1 where it has none.
func (m *Message) Add(f *Chunk, lim Limits) (pos int, opened bool, err error) {
	id, name := m.present(f.ID), m.present(f.Name)
	if len(id) > lim.NameBytes || len(name) > lim.NameBytes {
		m.Refuse(f)
		return -1, false, ErrName
	}
	if len(m.LostAt) > 0 && m.rest(f, id, name) {
		return -1, false, ErrRest
	}
	pos = m.find(f, id, name)
	if pos < 0 {
		if err := m.refuses(f, id, name, lim); err != nil {
			m.Refuse(f)
			return -1, false, err
		}
		m.grow()
		m.Calls = append(m.Calls, Call{Index: strings.Clone(f.Index), Name: m.known(name)})
		pos, opened = len(m.Calls)-1, true
	}
	c := &m.Calls[pos]
	if err := c.add(f, id, name, lim); err != nil {
		return pos, false, err
	}
	m.Latest = pos
	m.Lost = m.Lost && id == "" && name == ""
	if name != "" && len(m.LostAt) > 0 {
		m.goOn(place(f.Index, id))
	}
	return pos, opened, nil
}

// grow makes room for a call, and for no more than an eighth besides: a call
// takes more room than there is to spare where there are many.
func (m *Message) grow() {
	if n := len(m.Calls); n == cap(m.Calls) && n > 16 {
		m.Calls = append(make([]Call, 0, n+n/8), m.Calls...)
	}
}

// known gives a name that is kept already, where the latest call has it.
func (m *Message) known(name string) string {
	if n := len(m.Calls); name != "" && n > 0 && m.Calls[n-1].Name == name {
		return m.Calls[n-1].Name
	}
	return ""
}

// rest tells whether a fragment goes on with a call that was refused.
func (m *Message) rest(f *Chunk, id, name string) bool {
	return name == "" && slices.Contains(m.LostAt, place(f.Index, id)) && (id == "" || m.ByID(id) < 0)
}

// Refuse notes that the call that a fragment begins is refused: what goes on
// with it is no other's.
func (m *Message) Refuse(f *Chunk) { m.lose(place(f.Index, f.ID)) }

func (m *Message) lose(place string) {
	m.Lost = true
	if place == "" || slices.Contains(m.LostAt, place) {
		return
	}
	if len(m.LostAt) == keptLost {
		m.LostAt = slices.Delete(m.LostAt, 0, 1)
	}
	m.LostAt = append(m.LostAt, strings.Clone(place))
}

// goOn notes that a call was named that goes on from here, at a place.
func (m *Message) goOn(place string) {
	if i := slices.Index(m.LostAt, place); i >= 0 {
		m.LostAt = slices.Delete(m.LostAt, i, i+1)
	}
}

// place names what the fragments of a call have in common.
func place(index, id string) string {
	if index != "" || id == "" {
		return index
	}
	return "id " + id[:min(len(id), keptPlace)]
}

// refuses gives the reason why a fragment may not open a call.
func (m *Message) refuses(f *Chunk, id, name string, lim Limits) error {
	switch {
	case m.Lost && id == "" && name == "":
		return ErrRest
	case len(m.Calls) >= lim.Calls:
		return ErrCalls
	case len(f.Args) > lim.ArgsBytes:
		return ErrArgs
	}
	return nil
}

// Drop takes back the call that Add has just opened.
func (m *Message) Drop() {
	last := &m.Calls[len(m.Calls)-1]
	m.lose(place(last.Index, last.ID))
	m.Calls = m.Calls[:len(m.Calls)-1]
	m.Latest = max(0, len(m.Calls)-1)
}

// ByID gives the position of the call with an id, or -1.
func (m *Message) ByID(id string) int {
	for i := len(m.Calls) - 1; i >= 0; i-- {
		if m.Calls[i].ID == id {
			return i
		}
	}
	return -1
}

// ByIndex gives the position of the latest call on an index, or -1.
func (m *Message) ByIndex(index string) int {
	for i := len(m.Calls) - 1; i >= 0; i-- {
		if m.Calls[i].Index == index {
			return i
		}
	}
	return -1
}

// present makes "" of an id or name that stands for nothing: blank, or, while
// a call is there, the word null.
func (m *Message) present(s string) string {
	if s == "" || strings.TrimSpace(s) == "" || s == "null" && len(m.Calls) > 0 {
		return ""
	}
	return s
}

// find gives the call a fragment belongs to, or -1 where it opens one.
func (m *Message) find(f *Chunk, id, name string) int {
	if id != "" {
		if i := m.ByID(id); i >= 0 {
			return i
		}
	}
	if f.Whole || f.Opens || len(m.Calls) == 0 {
		return -1
	}
	if m.Lost && id == "" && name == "" {
		if f.Index == "" {
			return -1
		}
		return m.ByIndex(f.Index)
	}
	if f.Index == "" {
		return m.unlessOther(m.Latest, f, id, name)
	}
	if i := m.ByIndex(f.Index); i >= 0 {
		return m.unlessOther(i, f, id, name)
	}
	// An index that drifts: a bare continuation on an index never seen goes on
	// with the latest call while that one's JSON is incomplete.
	if latest := &m.Calls[m.Latest]; id == "" && name == "" && latest.growing() {
		return m.Latest
	}
	return -1
}

// unlessOther gives i, or -1 where the fragment cannot belong to that call.
func (m *Message) unlessOther(i int, f *Chunk, id, name string) int {
	c := &m.Calls[i]
	full := c.Closed != ClosedShort && (c.Sealed || c.Whole())
	switch {
	// Some servers change the id in mid-call; what says nothing but such an id
	// begins no other one.
	case id != "" && c.ID != "" && id != c.ID && (name != "" || full && strings.TrimSpace(f.Args) != ""):
		return -1
	case name != "" && full && (name != c.Name || id == "" && startsValue(f.Args)):
		return -1
	// How far the text would be by now is not known of a call that was closed in
	// the middle: only a brace begins the args of another one.
	case name != "" && id == "" && c.Closed == ClosedShort && startsObject(f.Args):
		return -1
	}
	return i
}

// startsObject reports whether args begin with an object.
func startsObject(args string) bool {
	return strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{")
}

// startsValue tells whether args begin a JSON value of their own.
func startsValue(args string) bool {
	s := strings.TrimLeft(args, " \t\r\n")
	return s != "" && (s[0] == '{' || s[0] == '[' || s[0] == '"')
}
