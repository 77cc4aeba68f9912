package lifecycle

import (
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// TestLongReason checks that the reason of an interrupt or a failure is cut to
// 1 KiB between characters, with a note. The result of every call repeats it.
func TestLongReason(t *testing.T) {
	long := strings.Repeat("é", 20_000)
	want := strings.Repeat("é", maxDetail/2) + "… (38976 bytes more)"
	for name, apply := range map[string]func(*Step){
		"interrupt": func(st *Step) { st.Interrupt(Interrupt{Reason: long}) },
		"end":       func(st *Step) { st.End(events.Error, long) },
		"failure":   func(st *Step) { st.Chunks([]chunks.Chunk{{Kind: chunks.Failure, Message: "m", Text: long}}) },
	} {
		t.Run(name, func(t *testing.T) {
			state, rules := new(State), DefaultRules()
			st := New(nil, state, &rules, "s", 1, 0, false)
			for _, id := range []string{"a", "b"} {
				st.Chunks([]chunks.Chunk{{Kind: chunks.Fragment, Message: "m", ID: id, Name: "f", Args: "{}"}})
			}
			apply(st)
			closed := 0
			for _, e := range st.Done() {
				if e.Type != events.ToolCallResult {
					continue
				}
				closed++
				if got := e.Reason.Detail; got != want {
					t.Errorf("%s: the detail is %q, want %q", name, got, want)
				}
			}
			if closed != 2 {
				t.Errorf("%s: %d calls are closed, want 2", name, closed)
			}
		})
	}
}
