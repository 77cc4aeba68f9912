package clients

import (
	"slices"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestWaits: a tab that was opened before the question shows the run that it begins.
func TestWaits(t *testing.T) {
	requireClients(t)
	server := serve(t, config(t))
	s := openSession(t, server, "waits", nil)
	tab := startProcess(t, "ai-sdk.mjs").start(t, job{Kind: "watch", URL: server + "/v1/ai-sdk/waits", Session: "waits"})
	s.post("delta", `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Here."},"finish_reason":"stop"}]}`)
	s.post("end", `{}`)
	var got shown
	if unmarshal(t, tab.state(t), &got) && !slices.Equal(got.Texts, []string{"Here."}) {
		t.Errorf("the tab shows %q", got.Texts)
	}
}

// TestApprovals: the answer of a person reaches the session from the real clients of
// LangGraph, over HTTP and over a WebSocket, of AG-UI, and of the AI SDK. That also gives
// the output of a tool of the frontend.
func TestApprovals(t *testing.T) {
	requireClients(t)
	server := serve(t, config(t))
	for _, test := range []struct{ program, kind, path string }{
		{"langgraph.mjs", "approve", "/v1/langgraph"},
		{"langgraph.mjs", "approve-socket", "/v1/langgraph"},
		{"ag-ui.mjs", "approve", "/v1/ag-ui/SESSION"},
		{"ai-sdk.mjs", "approve", "/v1/ai-sdk/SESSION"},
	} {
		t.Run(test.program+" "+test.kind, func(t *testing.T) {
			name := test.kind + "-" + strings.TrimSuffix(test.program, ".mjs")
			s := openSession(t, server, name, nil)
			s.post("delta", `{"event":"messages","data":[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"index":0,"id":"a","name":"send","args":"{}"},{"index":1,"id":"b","name":"pick","args":"{}"}],"chunk_position":"last"},{}]}`)
			s.post("delta", `{"event":"updates","data":{"__interrupt__":[{"value":{"ask":"send","tool_call_id":"a"},"id":"i"}]}}`)
			s.log.await("the wait", func(e *events.Event) bool { return e.Type == events.RunFinished })
			p := startProcess(t, test.program)
			p.start(t, job{Kind: test.kind, URL: server + strings.Replace(test.path, "SESSION", name, 1), Session: name}).state(t)
			s.log.await("the answer", func(e *events.Event) bool {
				return e.Type == events.ToolCallAnswered && e.Decision == "approve" && e.ID == "a"
			})
			if test.program == "ai-sdk.mjs" {
				s.log.await("the output", func(e *events.Event) bool {
					return e.Type == events.ToolCallResult && e.ID == "b" && string(e.ToolResult) == `{"color":"red"}`
				})
				return
			}
			if test.kind != "approve-socket" {
				return
			}
			s.post("result", `{"tool_call_id":"a","content":"sent"}`)
			s.post("end", "")
			thread := job{Kind: "thread", URL: server + test.path, Session: name}
			want := p.start(t, thread).state(t)
			thread.Kind = "thread-socket"
			for thread.Times = range 4 { // it is cut off after so many messages
				if got := p.start(t, thread).state(t); !sameJSON(got, want) {
					t.Errorf("over a WebSocket that is cut off after %d messages the thread is\n%s\nwant\n%s", thread.Times, got, want)
				}
			}
		})
	}
}
