package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"streamer/internal/inputs"
	"streamer/internal/session"

	"github.com/tidwall/gjson"
)

// asking returns a session whose run has ended, with the calls c1 to c3 that wait for p1 to p3.
func asking(t *testing.T) *folded {
	f := &folded{t: t, store: newMemory()}
	f.add(inputs.Delta, `{"type":"start","messageId":"m"}`)
	for i := range 3 {
		f.add(inputs.Delta, fmt.Sprintf(`{"type":"tool-input-available","toolCallId":"c%d","toolName":"send","input":{"a":1}}`, i+1))
		f.add(inputs.Delta, fmt.Sprintf(`{"type":"tool-approval-request","toolCallId":"c%[1]d","approvalId":"p%[1]d"}`, i+1))
	}
	f.add(inputs.Delta, `{"type":"finish","finishReason":"tool-calls"}`)
	f.add(inputs.Clock, `{"kind":"flush"}`)
	f.store.inputs = make([]input, f.seq) // so that later inputs have later sequences
	return f
}

// TestSecondAnswer: over HTTP and in the requests of other protocols, an answer to what was
// answered is refused with the first one.
func TestSecondAnswer(t *testing.T) {
	f := asking(t)
	f.add(inputs.Answer, `{"tool_call_id":"c1","decision":"approve","by":"ann"}`)
	f.add(inputs.Answer, `{"tool_call_id":"c2","decision":"edit","args":{"a":"<2>"}}`)
	f.store.inputs = make([]input, f.seq)
	first := fmt.Sprintf(`the call was answered already by \"ann\" at %s: approve`, at.UTC().Format(time.RFC3339))
	url := serve(t, Options{Check: session.Check}, f.store)
	useChat := func(id, approval string) string {
		return `{"messages":[{"role":"assistant","parts":[{"type":"tool-send","toolCallId":"c","state":"approval-responded","approval":{"id":"` + id + `",` + approval + `}}]}]}`
	}
	for _, c := range []struct {
		path, body string
		status     int
		text       string
		stored     int
	}{
		{"/v1/sessions/s/answer", `{"call":"2.0","decision":"deny","by":"bob"}`, 409, first, 1},
		{"/v1/sessions/s/answer", `{"tool_call_id":"c1","decision":"approve"}`, 409, first, 1},
		{"/v1/sessions/s/answer", `{"interrupt_id":"p1","decision":"approve"}`, 409, first, 1},
		{"/v1/sessions/s/answer", `{"tool_call_id":"c2","decision":"deny"}`, 409, "the call was answered already at 20", 1},
		{"/v1/sessions/s/answer", `{"tool_call_id":"c3","decision":"approve"}`, 202, "", 1},
		{"/v1/sessions/s/answer", `{"tool_call_id":"c9","decision":"approve"}`, 202, "", 1},
		{"/v1/ai-sdk/s", useChat("p1", `"approved":true`), 202, "", 0},
		{"/v1/ai-sdk/s", useChat("p1", `"approved":false`), 409, first, 0},
		{"/v1/ai-sdk/s", useChat("p3", `"approved":false`), 202, "", 1},
		{"/v1/langgraph/threads/s/commands", `{"id":1,"method":"input.respond","params":{"responses":[{"interrupt_id":"p1","response":"no"},{"interrupt_id":"p3","response":"yes"}]}}`, 409, first, 1},
		{"/v1/langgraph/threads/s/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"p2","response":{"type":"edit","edited_action":{"args":{"a":"<2>"}}}}}`, 200, "", 0},
		{"/v1/ag-ui/s", `{"threadId":"s","runId":"r","messages":[],"resume":[{"interruptId":"p1","status":"cancelled"}]}`, 409, first, 0},
	} {
		t.Run(c.path+" "+c.body, func(t *testing.T) {
			before := len(f.store.inputs)
			resp, body := do(t, "POST", url+c.path, c.body)
			if resp.StatusCode != c.status || !strings.Contains(body, c.text) || len(f.store.inputs)-before != c.stored {
				t.Errorf("got %d %s and %d inputs, want %d %s and %d", resp.StatusCode, body, len(f.store.inputs)-before, c.status, c.text, c.stored)
			}
		})
	}
}

// TestAnswerIsRepeated: a client that sends its answer again, with the same key, is not
// refused for its own answer.
func TestAnswerIsRepeated(t *testing.T) {
	f := asking(t)
	url := serve(t, Options{}, f.store) + "/v1/sessions/s/answer"
	const answer = `{"tool_call_id":"c1","decision":"approve","by":"ann"}`
	for _, duplicate := range []bool{false, true} {
		resp, body := do(t, "POST", url, answer, "Idempotency-Key: a")
		if resp.StatusCode != 202 || gjson.Get(body, "duplicate").Bool() != duplicate {
			t.Errorf("got %d %s, want 202, duplicate: %t", resp.StatusCode, body, duplicate)
		}
		f.add(inputs.Answer, answer)
	}
	if resp, body := do(t, "POST", url, answer, "Idempotency-Key: b"); resp.StatusCode != http.StatusConflict {
		t.Errorf("a second answer: got %d %s, want 409", resp.StatusCode, body)
	}
}

// TestQuestionIsRepeated: an answer to a call that is asked again is no second one.
func TestQuestionIsRepeated(t *testing.T) {
	f := asking(t)
	f.add(inputs.Answer, `{"tool_call_id":"c1","decision":"approve"}`)
	f.add(inputs.Delta, `{"type":"start","messageId":"m"}`)
	f.add(inputs.Delta, `{"type":"tool-approval-request","toolCallId":"c1","approvalId":"p1"}`)
	if resp, body := do(t, "POST", serve(t, Options{}, f.store)+"/v1/sessions/s/answer", `{"interrupt_id":"p1","decision":"deny"}`); resp.StatusCode != 202 {
		t.Errorf("got %d %s, want 202", resp.StatusCode, body)
	}
	f.add(inputs.Answer, `{"tool_call_id":"c1","decision":"deny","by":"bob"}`)
	f.store.inputs = make([]input, f.seq)
	if resp, body := do(t, "POST", serve(t, Options{}, f.store)+"/v1/sessions/s/answer", `{"tool_call_id":"c1","decision":"approve"}`); resp.StatusCode != 409 || !strings.Contains(body, "bob") {
		t.Errorf("got %d %s, want 409 with the answer to the second question", resp.StatusCode, body)
	}
}

// TestOnlyNewIsCharged: of a body of useChat, only the answers and results that the log lacks
// are stored, and counted against the rate.
func TestOnlyNewIsCharged(t *testing.T) {
	f := asking(t)
	f.add(inputs.Answer, `{"interrupt_id":"p1","decision":"approve"}`)
	f.add(inputs.Result, `{"tool_call_id":"c1","content":{"b":2},"status":"error"}`)
	f.add(inputs.Interrupt, `{"tool_call_id":"c2"}`)
	opts := withTokens(t)
	opts.MaxInputRate = 1
	url := serve(t, opts, f.store) + "/v1/ai-sdk/s"
	post := func(parts string) int {
		resp, body := do(t, "POST", url, `{"messages":[{"role":"assistant","parts":[`+parts+`]}]}`, "Authorization: Bearer "+signedToken(t, "ann", everything, time.Hour))
		n := len(f.store.inputs)
		if resp.StatusCode != 202 || gjson.Get(body, "inputs").Int() != int64(n) {
			t.Errorf("%s: got %d %s, want 202 with %d inputs", parts, resp.StatusCode, body, n)
		}
		f.store.inputs = nil
		return n
	}
	const known = `{"type":"tool-send","toolCallId":"c0","state":"approval-responded","approval":{"id":"p1","approved":true}},
		{"type":"tool-send","toolCallId":"c1","state":"output-available","output":{"c":3}},
		{"type":"tool-send","toolCallId":"c1","state":"output-error","errorText":"it failed"},
		{"type":"tool-send","toolCallId":"c2","state":"output-error","errorText":"it was stopped"}`
	f.store.inputs = nil
	if got := post(known); got != 0 {
		t.Errorf("%d inputs are stored again, want none", got)
	}
	if got := post(known + `,{"type":"tool-send","toolCallId":"c2","state":"output-available","output":1}`); got != 1 {
		t.Errorf("a result after the call was closed: %d inputs are stored, want 1", got)
	}
}
