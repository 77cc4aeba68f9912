package clients

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestApprovals: the answer of a person reaches the session from the real clients of
// LangGraph and AG-UI.
func TestApprovals(t *testing.T) {
	requireClients(t)
	server := serve(t, config(t))
	for _, test := range []struct{ program, path string }{{"langgraph.mjs", "/v1/langgraph"}, {"ag-ui.mjs", "/v1/ag-ui/%s"}} {
		t.Run(test.program, func(t *testing.T) {
			name := "approve-" + strings.TrimSuffix(test.program, ".mjs")
			s := openSession(t, server, name, nil)
			s.post("delta", `{"event":"messages","data":[{"type":"AIMessageChunk","id":"m","content":"","tool_call_chunks":[{"index":0,"id":"a","name":"send","args":"{}"}],"chunk_position":"last"},{}]}`)
			s.post("delta", `{"event":"updates","data":{"__interrupt__":[{"value":{"ask":"send"},"id":"i"}]}}`)
			s.log.await("the wait", func(e *events.Event) bool { return e.Type == events.RunFinished })
			url := server + test.path
			if test.program == "ag-ui.mjs" {
				url = fmt.Sprintf(url, name)
			}
			startProcess(t, test.program).start(t, job{Kind: "approve", URL: url, Session: name}).state(t)
			s.log.await("the answer", func(e *events.Event) bool {
				return e.Type == events.ToolCallAnswered && e.Decision == "approve" && e.ID == "a"
			})
		})
	}
}
