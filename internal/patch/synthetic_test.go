package patch

import (
	"encoding/json"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestSynthetic checks the message of each shape byte for byte.
func TestSynthetic(t *testing.T) {
	const hostile = "a\"b\\<&>\n\u2028{id}"
	for _, c := range []struct {
		name  string
		shape Shape
		call  Call
		want  string
	}{
		{"LangChain", LangChain, Call{ID: "call_1", Name: "search"}, `{"type":"tool","content":"It <timed> out.","tool_call_id":"call_1","name":"search","status":"error","additional_kwargs":{"synthetic_tool_result":"timeout"}}`},
		{"LangChain without a name", LangChain, Call{ID: "call_1"}, `{"type":"tool","content":"It <timed> out.","tool_call_id":"call_1","status":"error","additional_kwargs":{"synthetic_tool_result":"timeout"}}`},
		{"OpenAI", OpenAI, Call{ID: "call_1", Name: "search"}, `{"role":"tool","tool_call_id":"call_1","content":"It <timed> out."}`},
		{"Anthropic", Anthropic, Call{ID: "toolu_1", Name: "search"}, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"It <timed> out.","is_error":true}]}`},
		{"Gemini", Gemini, Call{ID: "call_1", Name: "search"}, `{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"search","response":{"error":"It <timed> out."}}}]}`},
		{"LangChain for Elixir", LangChainEx, Call{ID: "call_1", Name: "search"}, `{"role":"tool","content":null,"status":"complete","tool_results":[{"type":"function","tool_call_id":"call_1","name":"search","content":[{"type":"text","content":"It <timed> out."}],"is_error":true,"is_interrupt":false}]}`},
		{"a hostile id", OpenAI, Call{ID: hostile, Name: hostile}, `{"role":"tool","tool_call_id":"a\"b\\<&>\n\u2028{id}","content":"It <timed> out."}`},
		{"a hostile name", LangChain, Call{ID: "c", Name: hostile}, `{"type":"tool","content":"It <timed> out.","tool_call_id":"c","name":"a\"b\\<&>\n\u2028{id}","status":"error","additional_kwargs":{"synthetic_tool_result":"timeout"}}`},
		{"an id that is not UTF-8", Anthropic, Call{ID: "\xff"}, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"\ufffd","content":"It <timed> out.","is_error":true}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Synthetic(c.shape, c.call, events.TextTimeout, "It <timed> out.")
			if err != nil || string(got) != c.want {
				t.Errorf("%s: error %v\n got %s\nwant %s", c.name, err, got, c.want)
			}
		})
	}
}

// TestSyntheticShapes checks that each shape writes each call as one line of JSON
// with the id and the text.
func TestSyntheticShapes(t *testing.T) {
	for _, shape := range Shapes() {
		for _, call := range []Call{{ID: "id-1", Name: "f"}, {ID: "id-1"}, {ID: "id-1", Name: "f", Kind: "custom"}, {ID: "id-1", Name: "\"\n\x00", Kind: "function"}} {
			t.Run(call.ID, func(t *testing.T) {
				got, err := Synthetic(shape, call, events.TextArgs, "words")
				if err != nil || !json.Valid(got) || strings.ContainsAny(string(got), "\n") ||
					!strings.Contains(string(got), `"id-1"`) || !strings.Contains(string(got), "words") {
					t.Errorf("%s, %+v: %s, %v", shape, call, got, err)
				}
			})
		}
	}
	if got, err := Synthetic("yaml", Call{}, events.TextArgs, ""); err == nil || !strings.Contains(err.Error(), `"yaml"`) || !strings.Contains(err.Error(), "anthropic") {
		t.Errorf("an unknown shape: %s, error %v, want one that lists the known shapes", got, err)
	}
}
