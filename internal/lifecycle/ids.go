package lifecycle

import (
	"fmt"
	"strings"
)

// Ids number the calls of a session for the ids of calls to which the wire gives none.
//
// An id consists of the sequence of the first input of the state and the number of the
// call since then. It does not depend on how the stream is cut into inputs, only on the
// order of the calls. It is not repeated either: a state that begins again, because the
// session was forgotten or its inputs were lost, begins with a later input.
type Ids struct {
	First uint64 `json:"first,omitempty"` // sequence of the first input
	Calls uint64 `json:"calls,omitempty"` // number of calls since then
}

// begin records the sequence of an input if it is the first one.
func (n *Ids) begin(seq uint64) {
	if n.First == 0 {
		n.First = seq
	}
}

// next returns the number of the next call.
func (n *Ids) next() uint64 {
	n.Calls++
	return n.Calls
}

// SynthesizedID returns the id of a call to which the wire gives none. It is unique in
// the session, and every provider accepts it.
func (s *State) SynthesizedID(c *CallState) string {
	if c.Number == 0 {
		return "call_" + strings.ReplaceAll(c.Call, ".", "_")
	}
	return fmt.Sprintf("call_%d_%d", s.Ids.First, c.Number)
}
