package eventlog

import (
	"testing"

	"streamer/internal/events"
)

// TestEnd checks which events follow a message, where a message between them is missing and
// where there are more than an End has.
func TestEnd(t *testing.T) {
	var e End
	add := func(seq, prev uint64) { e.Add(&events.Record{Seq: seq, Prev: prev, ID: events.ID{Seq: seq}}) }
	behind := func(seq uint64, want int, known bool) {
		t.Helper()
		if got, ok := e.After(seq); ok != known || ok && len(got) != want {
			t.Errorf("after %d: got %d events, %v, want %d, %v", seq, len(got), ok, want, known)
		}
	}
	add(3, 0)
	add(5, 3)
	behind(0, 2, true)
	behind(3, 1, true)
	behind(5, 0, true)
	behind(4, 0, false)
	add(9, 7) // behind 7, which is no event
	behind(5, 0, false)
	behind(7, 1, true)
	for seq := uint64(10); seq <= 10+endMost; seq++ {
		add(seq, seq-1)
	}
	behind(7, 0, false)
	last := uint64(10 + endMost)
	behind(last-uint64(len(e.Events)), len(e.Events), true)
	if len(e.Events) > endMost || e.Last().Seq != last {
		t.Errorf("got %d events up to %d, want at most %d up to %d", len(e.Events), e.Last().Seq, endMost, last)
	}
}
