package lifecycle

import (
	"streamer/internal/chunks"
	"streamer/internal/events"
)

// A message can have several calls with one id: some servers use the name of the
// function as id. A full message repeats them in their order, so a whole call is
// identified by its id and its number among the calls with that id.

// number returns how many whole calls with the id of c come before c in the same
// message of the current stream event.
func (st *Step) number(c *chunks.Chunk) int {
	if st.numbers != nil {
		return st.numbers[c]
	}
	type key struct{ namespace, message, id string }
	seen := map[key]int{}
	st.numbers = map[*chunks.Chunk]int{}
	for i := range st.frame {
		if o := &st.frame[i]; o.Kind == chunks.Fragment && o.Whole && o.ID != "" {
			k := key{o.Namespace, o.Message, o.ID}
			st.numbers[o] = seen[k]
			seen[k]++
		}
	}
	return st.numbers[c]
}

// repeatedIn returns the position of the call of an open message that a whole call of
// the same message repeats, or -1: the call with its id and its number, or with its id
// and its index where that call has another index.
func (st *Step) repeatedIn(m *Message, c *chunks.Chunk, args uint64) int {
	pos := m.numbered(c.ID, st.number(c))
	if pos >= 0 && (m.Calls[pos].Index == c.Index || m.Calls[pos].Index == "" || c.Index == "") { // either may be unknown
		return pos
	}
	for i := range m.Calls {
		if call := &m.Calls[i]; call.ID == c.ID && call.Index == c.Index {
			return i
		}
	}
	if pos >= 0 && m.Calls[pos].State.Status != events.BuildingArgs && !sameCall(c, args, m.Calls[pos].State.Args, m.Calls[pos].Name) {
		return -1
	}
	return pos
}

// equalIn returns the position of the call of an open message that a whole call of
// another message repeats, or -1: the call with its id and its args, by its number
// first. Without its args, a call of another agent may be another one.
func (st *Step) equalIn(m *Message, c *chunks.Chunk, args uint64) int {
	same := func(i int) bool {
		call := &m.Calls[i]
		known := call.State.Args
		if known == 0 && call.Whole() {
			known = fingerprint(call.Text)
		}
		if known == 0 && m.Namespace != c.Namespace && !c.Repeated {
			return false
		}
		return sameCall(c, args, known, call.Name)
	}
	if i := m.numbered(c.ID, st.number(c)); i >= 0 && same(i) {
		return i
	}
	for i := len(m.Calls) - 1; i >= 0; i-- {
		if m.Calls[i].ID == c.ID && same(i) {
			return i
		}
	}
	return -1
}

func (m *Message) numbered(id string, n int) int {
	for i := range m.Calls {
		if m.Calls[i].ID != id {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}
