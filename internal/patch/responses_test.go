package patch

import (
	"testing"

	"streamer/internal/events"
)

// TestResponses checks that each kind of call gets its own kind of output.
func TestResponses(t *testing.T) {
	for kind, want := range map[string]string{
		"":                     `{"type":"function_call_output","call_id":"call_1","output":"cut <off>"}`,
		"local_shell":          `{"type":"function_call_output","call_id":"call_1","output":"cut <off>"}`,
		"custom":               `{"type":"custom_tool_call_output","call_id":"call_1","output":"cut <off>"}`,
		"shell":                `{"type":"shell_call_output","call_id":"call_1","output":[{"stdout":"","stderr":"cut <off>","outcome":{"type":"timeout"}}]}`,
		"apply_patch":          `{"type":"apply_patch_call_output","call_id":"call_1","output":"cut <off>","status":"failed"}`,
		"tool_search":          `{"type":"tool_search_output","call_id":"call_1","execution":"client","status":"completed","tools":[]}`,
		"mcp_approval_request": `{"type":"mcp_approval_response","approval_request_id":"call_1","approve":false,"reason":"cut <off>"}`,
	} {
		t.Run(kind, func(t *testing.T) {
			got, err := Synthetic(Responses, Call{ID: "call_1", Name: "f", Kind: kind}, events.Text("timeout"), "cut <off>")
			if err != nil || string(got) != want {
				t.Errorf("kind %q\n got %s, %v\nwant %s", kind, got, err, want)
			}
		})
	}
	got, err := Synthetic(Responses, Call{ID: "call_1", Parent: "call_p"}, events.Text("timeout"), "x")
	want := `{"type":"function_call_output","call_id":"call_1","output":"x","caller":{"type":"program","caller_id":"call_p"}}`
	if err != nil || string(got) != want {
		t.Errorf("a call of a program\n got %s, %v\nwant %s", got, err, want)
	}
}
