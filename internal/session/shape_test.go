package session

import (
	"strings"
	"testing"

	"streamer/internal/inputs"
)

// TestSyntheticShape checks that the message for the history has the shape of the
// call's format and fits the call's kind.
func TestSyntheticShape(t *testing.T) {
	const response = `{"type":"response.created","response":{"id":"resp_1"}}`
	for name, c := range map[string]struct {
		deltas []string
		want   string
	}{
		"a function of the Responses": {
			[]string{response, `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"p"}}}`},
			`"type":"function_call_output","call_id":"a"|"caller":{"type":"program","caller_id":"p"}`,
		},
		"a custom tool of the Responses": {
			[]string{response, `{"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","call_id":"a","name":"f","input":"x"}}`},
			`"type":"custom_tool_call_output","call_id":"a"`,
		},
		"an approval of the Responses": {
			[]string{response, `{"type":"response.output_item.done","output_index":0,"item":{"type":"mcp_approval_request","id":"a","name":"f","arguments":"{}"}}`},
			`"type":"mcp_approval_response","approval_request_id":"a","approve":false`,
		},
		"LangGraph's protocol": {
			[]string{`{"type":"event","method":"messages","params":{"namespace":["agent:1"],"data":{"event":"content-block-finish","index":0,"content":{"type":"tool_call","id":"a","name":"f","args":{}}}}}`},
			`"type":"tool"|"tool_call_id":"a"|"status":"error"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l log
			for _, d := range c.deltas {
				l.add(inputs.Delta, 1, d)
			}
			l.add(inputs.Interrupt, 2, "")
			got := ""
			for _, e := range fold(l) {
				if strings.Contains(e, ".synthetic ") {
					got += e
				}
			}
			for part := range strings.SplitSeq(c.want, "|") {
				if !strings.Contains(got, part) {
					t.Errorf("%s: %q\n got %q\nwant it to have %s", name, c.deltas, got, part)
				}
			}
		})
	}
}
