package gateway

import (
	"strings"
	"testing"

	"streamer/internal/inputs"
)

// TestHumanMessages checks that what a person asked before a run is in the streams of
// that run and of no other.
func TestHumanMessages(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.add(inputs.Delta, `{"role":"user","content":"first question"}`)
	f.message("m0", "before", "")
	f.add(inputs.Delta, `{"role":"user","content":"second question"}`)
	f.message("m1", "answer", "")
	url := serve(t, Options{}, store)
	for path, want := range map[string]bool{
		"/v1/ag-ui/s": true,
		"/v1/langgraph/threads/s/runs/6.0/stream": true,
		"/v1/ai-sdk/s/stream?after=1":             false, // the client has it
	} {
		t.Run(path, func(t *testing.T) {
			_, body := do(t, "GET", url+path, "")
			if got := strings.Contains(body, `second question`); got != want || strings.Contains(body, "first question") || !strings.Contains(body, "answer") {
				t.Errorf("%s: has the question: %v, want %v\n%s", path, got, want, body)
			}
		})
	}
	thread, _ := openFrames(t, "POST", url+threadPath+"/stream/events", `{"channels":["messages","lifecycle"]}`)
	_, all := thread.until("lifecycle")
	for _, want := range []string{`"role":"human"`, "first question"} {
		if !strings.Contains(all, want) {
			t.Errorf("the stream of the session has no %s\n%s", want, all)
		}
	}
}
