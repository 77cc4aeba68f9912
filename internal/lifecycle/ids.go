package lifecycle

import "fmt"

// SynthesizedID returns an id of a call to which the wire gives none: the last one that
// a call got, or the n-th after it.
//
// An id consists of the sequence of the first input of the state and the number of ids
// since then. It does not depend on how the stream is cut into inputs, only on the order
// in which the calls start. It is not repeated either: a state that begins again, because
// the session was forgotten or its inputs were lost, begins with a later input. Every
// provider accepts it.
func (s *State) SynthesizedID(n uint32) string {
	return fmt.Sprintf("call_%d_%d", s.First, s.IDs+n)
}
