package repair

import (
	"errors"
	"strings"
	"testing"
)

// TestFrontendBodies checks that a request can have the whole body of a frontend as
// its history, and that the results of the log are written in its format.
func TestFrontendBodies(t *testing.T) {
	log := &memory{bodies: []string{
		closed(1, "c1", `"status":"completed","tool_result":{"n": 1.50}`),
		closed(2, "c2", `"status":"error","tool_result":"broken"`),
		closed(3, "c3", `"status":"completed","tool_result":"text"`),
	}}
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{
			"useChat", `{"id":"chat","trigger":"submit-message","messages":[{"id":"a1","role":"assistant","parts":[` +
				`{"type":"tool-f","toolCallId":"c1","state":"input-available","input":{}},` +
				`{"type":"tool-f","toolCallId":"c2","state":"input-available","input":{}},` +
				`{"type":"dynamic-tool","toolName":"f","toolCallId":"c3","state":"output-error","input":{},"errorText":"aborted"}]},` +
				`{"id":"u1","role":"user","parts":[{"type":"text","text":"x"}]}]}`,
			[]string{
				`{"id":"chat","trigger":"submit-message","messages":[`,
				`"toolCallId":"c1","state":"output-available","input":{},"output":{"n": 1.50}}`,
				`"toolCallId":"c2","state":"output-error","input":{},"errorText":"broken"}`,
				`"toolCallId":"c3","state":"output-available","input":{},"output":"text"}`,
			},
		},
		{
			"RunAgentInput", `{"threadId":"t","runId":"r","tools":[],"context":[],"messages":[{"id":"a1","role":"assistant","toolCalls":[` +
				`{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`,
			[]string{
				`{"threadId":"t","runId":"r","tools":[],"context":[],"messages":[`,
				`{"id":"a1-c1-result","role":"tool","toolCallId":"c1","content":"{\"n\": 1.50}"}`,
				`{"id":"a1-c2-result","role":"tool","toolCallId":"c2","content":"broken","error":"broken"}`,
			},
		},
		{
			"ModelMessages", `{"messages":[{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"f","input":{}},{"type":"tool-call","toolCallId":"c2","toolName":"f","input":{}}]},` +
				`{"role":"tool","content":[{"type":"tool-result","toolCallId":"c2","toolName":"f","output":{"type":"error-text","value":"aborted"}}]}]}`,
			[]string{
				`"toolCallId":"c1","toolName":"f","output":{"type":"json","value":{"n": 1.50}}}`,
				`"toolCallId":"c2","toolName":"f","output":{"type":"error-text","value":"broken"}}`,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := (&Service{Log: log}).Answer(t.Context(), []byte(`{"session":"s","messages":`+c.body+`}`), nil)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				return
			}
			got := messages(t, a.Bytes())
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("%s: no %s in\n%s", c.name, w, got)
				}
			}
		})
	}
	for _, body := range []string{
		`[{"role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
		`[{"id":"1","role":"assistant","content":"","toolInvocations":[{"toolCallId":"c1"}]}]`,
	} {
		_, err := new(Service).Answer(t.Context(), []byte(`{"messages":`+body+`}`), nil)
		if refused, ok := errors.AsType[*Refusal](err); !ok || refused.Status != 422 || !strings.Contains(refused.Text, "message 0") {
			t.Errorf("%s: %v, want status 422", body, err)
		}
	}
}
