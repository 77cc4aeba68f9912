package lifecycle

import (
	"fmt"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// TestManyInterrupted: the answer to an interrupt counts all calls that it closed, and
// names at most maxClosedNames of them.
func TestManyInterrupted(t *testing.T) {
	var s State
	rules := DefaultRules()
	st := New(nil, &s, &rules, "s", 1, 0, false)
	for i := range maxClosedNames + 1 {
		index := fmt.Sprint(i)
		st.Chunks([]chunks.Chunk{{Kind: chunks.Fragment, Message: "m", Index: index, ID: "c" + index, Name: "f", Args: "{}"}})
	}
	st.Done()
	st = New(nil, &s, &rules, "s", 2, 0, false)
	st.Interrupt(Interrupt{})
	out := st.Done()
	e := out[len(out)-1]
	if e.Type != events.Interruption || *e.Closed != maxClosedNames+1 || len(e.Calls) != maxClosedNames {
		t.Errorf("got %s with %d closed, %d named; want %d and %d", e.Type, *e.Closed, len(e.Calls), maxClosedNames+1, maxClosedNames)
	}
}
