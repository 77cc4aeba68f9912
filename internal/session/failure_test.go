package session

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestFailuresEndTheRun checks that the error of each format ends the run as failed,
// once, and leaves no message open, in mid-message and before all content.
func TestFailuresEndTheRun(t *testing.T) {
	for _, test := range []struct{ name, format, stream string }{
		{"error body", "gemini", `{"error":{"code":503,"message":"broken","status":"UNAVAILABLE"}}`},
		{"error in mid-stream", "gemini", `{"candidates":[{"content":{"parts":[{"text":"Hal"}]}}],"responseId":"r"}
			{"error":{"code":500,"message":"broken","status":"INTERNAL"}}`},
		{"blocked prompt", "gemini", `{"promptFeedback":{"blockReason":"broken"},"usageMetadata":{"totalTokenCount":4},"responseId":"r"}`},
		{"error", "gemini-interactions", `{"event_type":"interaction.created","interaction":{"id":"v"}}
			{"event_type":"error","error":{"code":"x","message":"broken"}}`},
		{"status failed", "gemini-interactions", `{"event_type":"interaction.created","interaction":{"id":"v"}}
			{"event_type":"interaction.completed","interaction":{"id":"v","status":"failed","error":{"message":"broken"}}}`},
		{"event failed", "gemini-interactions", `{"event_type":"interaction.created","interaction":{"id":"v"}}
			{"event_type":"interaction.failed","interaction":{"id":"v","error":{"message":"broken"}}}`},
		{"failed", "openai-responses", `{"type":"response.created","response":{"id":"r"}}
			{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"x","message":"broken"}}}`},
		{"error, then failed", "openai-responses", `{"type":"response.created","response":{"id":"r"}}
			{"type":"error","code":"x","message":"broken","sequence_number":3}
			{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"x","message":"broken"}}}`},
		{"error without a type", "openai-responses", `{"type":"response.created","response":{"id":"r"}}
			{"error":{"message":"broken"}}`},
		{"error before the response", "openai-responses", `{"type":"error","code":"x","message":"broken","sequence_number":0}`},
		{"exception", "bedrock", `{"messageStart":{"role":"assistant"}}
			{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"Hal"}}}
			{"modelStreamErrorException":{"message":"broken"}}`},
		{"error", "ollama", `{"model":"m","message":{"role":"assistant","content":"Hal"},"done":false}
			{"error":"broken"}`},
		{"error alone", "ollama", `{"error":"broken","status_code":500}`},
		{"finish reason ERROR", "cohere", `{"type":"message-start","id":"m","delta":{"message":{"role":"assistant"}}}
			{"type":"message-end","delta":{"finish_reason":"ERROR","error":"broken"}}`},
		{"error", "vercel-ui", `{"type":"start","messageId":"u"}
			{"type":"error","errorText":"broken"}
			{"type":"finish","finishReason":"error"}`},
		{"RUN_ERROR", "ag-ui", `{"type":"RUN_STARTED","threadId":"t","runId":"r"}
			{"type":"RUN_ERROR","message":"broken"}`},
	} {
		t.Run(fmt.Sprintf("%.60s", test.name+" "+test.stream), func(t *testing.T) {
			a := Assembly{Format: test.format}
			for line := range strings.Lines(test.stream) {
				a.Line([]byte(strings.TrimSpace(line)))
			}
			a.End()
			n := map[events.Type]int{}
			for i := range a.Events {
				e := &a.Events[i]
				n[e.Type]++
				if e.Type == events.RunFinished && (e.Status != events.Error || !strings.Contains(e.Reason.Detail, "broken")) {
					t.Errorf("%s, %s: the run is %s, %v", test.format, test.name, e.Status, e.Reason)
				}
			}
			if n[events.RunStarted] != 1 || n[events.RunFinished] != 1 || n[events.MessageStarted] != n[events.MessageFinished] || n[events.Rejected] > 0 {
				t.Errorf("%s, %s: the events are %v", test.format, test.name, n)
			}
		})
	}
}
