package session

import (
	"testing"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestErased: a session counts as erased from the erasure to its next input that is not a
// clock input. One that was recovered without a state does not.
func TestErased(t *testing.T) {
	var l log
	l.add("delta", 1, twoCalls)
	l.add(inputs.Erase, 2, "")
	l.add("clock", 3, `{"at":3,"kind":"run_idle"}`)
	l.add("delta", 4, twoCalls)
	s := new(State)
	if s.Erased() {
		t.Error("a new session is erased")
	}
	for i, want := range []bool{false, true, true, false} {
		Fold(nil, s, l[i])
		if s.Erased() != want {
			t.Errorf("after input %d: erased is %t", i+1, s.Erased())
		}
	}
	s = new(State)
	Recover(nil, s, Recovery{Session: "s", Next: events.ID{Seq: 9}})
	if s.Erased() {
		t.Error("a session that was recovered is erased")
	}
}

// TestOpenAfterErasure: what was open before an erasure is not open after it.
func TestOpenAfterErasure(t *testing.T) {
	var l log
	l.add("delta", 1, twoCalls)
	_, before := foldAll(l)
	l.add(inputs.Erase, 2, "")
	_, after := foldAll(l)
	was, is := openAfter(t, before), openAfter(t, after)
	if was.Empty() || !is.Empty() {
		t.Errorf("open before: %+v, after: %+v", was, is)
	}
}
