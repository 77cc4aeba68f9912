package patch_test

import (
	"bytes"
	"testing"

	"streamer/internal/patch"
)

// TestOwnBytes checks that the result of a repair does not share memory with the
// input, which the caller may reuse.
func TestOwnBytes(t *testing.T) {
	const history = `[{"role":"tool","tool_call_id":"call_0","content":"stray"},` +
		`{"role":"assistant","tool_calls":[{"id":"call:1","type":"function","function":{"name":"look","arguments":""}},` +
		`{"id":"call:2","type":"function","function":{"name":"wait","arguments":"{}"}}]},` +
		`{"role":"user","content":"Hello?"}]`
	for _, output := range []string{"full", "ops", "check"} {
		o := patch.Options{Provider: "anthropic", Pending: []string{"call:2"}, Dropped: true, Output: output}
		input := []byte(history)
		r, err := patch.Repair(patch.OpenAI, input, o)
		if err != nil {
			t.Fatal(err)
		}
		copy(input, bytes.Repeat([]byte{'!'}, len(input)))
		want := repair(t, patch.OpenAI, []byte(history), o)
		if got, want := asJSON(r), asJSON(want); got != want {
			t.Errorf("%s, output %s, with the input overwritten\n got %s\nwant %s", history, output, got, want)
		}
	}
}
