package replies

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/session"
)

// TestReplies: what the clients of other protocols send is stored as these inputs, which are
// all valid.
func TestReplies(t *testing.T) {
	approval := func(state string) []byte {
		return []byte(`{"id":"s","messages":[{"role":"user","parts":[]},{"role":"assistant","parts":[{"type":"text","text":"x"},` + state + `]}]}`)
	}
	resume := func(entry string) []byte {
		return []byte(`{"threadId":"t","runId":"r","messages":[],"resume":[` + entry + `]}`)
	}
	command := func(params string) []byte { return []byte(`{"id":7,"method":"input.respond","params":` + params + `}`) }
	aiSDK := func(body []byte) []Input { list, _ := AISDK(body); return list }
	langGraph := func(body []byte) []Input { _, _, list := LangGraph(body); return list }
	for _, test := range []struct {
		name string
		read func([]byte) []Input
		body []byte
		want string // of each input
	}{
		{"approved", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"approval-responded","approval":{"id":"i","approved":true}}`), `answer {"interrupt_id":"i","decision":"approve"}`},
		{"approved, with a reason", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"approval-responded","approval":{"id":"i","approved":true,"reason":"ok","signature":"x"}}`), `answer {"interrupt_id":"i","decision":"approve","value":"ok"}`},
		{"denied, with a call", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"approval-responded","approval":{"id":"i~18.0","approved":false,"reason":"no"}}`), `answer {"call":"18.0","interrupt_id":"i","decision":"deny","value":"no"}`},
		{"output", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"output-available","output":{"a":1}}`), `result {"content":{"a":1},"tool_call_id":"c"}`},
		{"error", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"output-error","errorText":"bad"}`), `result {"content":"bad","status":"error","tool_call_id":"c"}`},
		{"of the provider", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"output-available","output":1,"providerExecuted":true}`), ""},
		{"open", aiSDK, approval(`{"type":"tool-f","toolCallId":"c","state":"input-available"}`), ""},
		{"resolved", AGUI, resume(`{"interruptId":"18.0","status":"resolved","payload":{"approved":true}}`), `answer {"call":"18.0","decision":"approve"}`},
		{"without a payload", AGUI, resume(`{"interruptId":"18.0","status":"resolved"}`), ""},
		{"edited", AGUI, resume(`{"interruptId":"i","status":"resolved","payload":{"approved":true,"editedArgs":{"a":2}}}`), `answer {"interrupt_id":"i","decision":"edit","args":{"a":2}}`},
		{"cancelled", AGUI, resume(`{"interruptId":"i","status":"cancelled"}`), `answer {"interrupt_id":"i","decision":"deny"}`},
		{"two", AGUI, resume(`{"interruptId":"i","status":"resolved","payload":4},{"interruptId":"j","status":"resolved","payload":{"approved":false}}`), `answer {"interrupt_id":"i","decision":"reply","value":4}` + "\n" + `answer {"interrupt_id":"j","decision":"deny"}`},
		{"response", langGraph, command(`{"interrupt_id":"i","response":"yes"}`), `answer {"interrupt_id":"i","decision":"reply","value":"yes"}`},
		{"decision", langGraph, command(`{"interrupt_id":"i","response":{"decisions":[{"type":"edit","edited_action":{"name":"f","args":{"a":3}}}]}}`), `answer {"interrupt_id":"i","decision":"edit","args":{"a":3}}`},
		{"rejection", langGraph, command(`{"responses":[{"interrupt_id":"i","response":{"decisions":[{"type":"reject","message":"no"}]}}]}`), `answer {"interrupt_id":"i","decision":"deny","value":"no"}`},
		{"no response", langGraph, command(`{"interrupt_id":"i","response":null}`), ""},
		{"no name", langGraph, command(`{"response":1}`), ""},
		{"no JSON", langGraph, []byte(`{`), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, in := range test.read(test.body) {
				got = append(got, fmt.Sprintf("%s %s", in.Kind, in.Body))
				if err := session.Check(in.Kind, in.Body); err != nil {
					t.Errorf("%s: %v", in.Body, err)
				}
			}
			if strings.Join(got, "\n") != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
