package decode

import (
	"strings"
	"testing"
)

// TestResultsOfOtherLines checks the results of calls that only another line than that of a
// result has stated when the turn ends.
func TestResultsOfOtherLines(t *testing.T) {
	for format, c := range map[string]struct{ lines, want string }{
		"codex-rollout": {
			`{"timestamp":"t","type":"event_msg","payload":{"type":"task_started","turn_id":"u"}}
{"timestamp":"t","type":"response_item","payload":{"type":"function_call","call_id":"c1","name":"exec_command","arguments":"{}"}}
{"timestamp":"t","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c1","command":["ls"],"status":"failed","aggregated_output":"a","exit_code":2}}}
{"timestamp":"t","type":"event_msg","payload":{"type":"task_complete","turn_id":"u"}}
{"timestamp":"t","type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c1","command":["ls"],"status":"completed","aggregated_output":"b","exit_code":0}}}`,
			`result ID="c1" Text="a" Status="error"`,
		},
		"claude-code": {
			`{"type":"system","subtype":"init","session_id":"s","uuid":"u1"}
{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"c1","name":"Bash","input":{}}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u2"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"It runs."}]},"tool_use_result":{"backgroundTaskId":"b1"},"parent_tool_use_id":null,"session_id":"s","uuid":"u3"}
{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"c1","task_type":"local_bash","session_id":"s","uuid":"u4"}
{"type":"system","subtype":"task_updated","task_id":"b1","patch":{"status":"killed"},"session_id":"s","uuid":"u5"}
{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"u6"}`,
			`result ID="c1" Status="cancelled"`,
		},
	} {
		t.Run(format, func(t *testing.T) {
			var s State
			var r Reader
			got := transcript(&r, &s, []byte(c.lines), "")
			if s.Format != format || strings.Count(got, "\nresult") != 1 || !strings.Contains(got, "\n"+c.want+"\nrun_end") || strings.Contains(got, "problem") {
				t.Errorf("format %s, got\n%s\nwant %s before the end of the run", s.Format, got, c.want)
			}
		})
	}
}

// TestSessionFileOfQwen checks that the lines with messages of a session file of Qwen Code,
// which are like those of Claude Code, are rejected with its name.
func TestSessionFileOfQwen(t *testing.T) {
	var s State
	var r Reader
	got := transcript(&r, &s, []byte(`{"uuid":"u1","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"Go"}]}}
{"uuid":"u2","parentUuid":"u1","sessionId":"s","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{}}}]},"usageMetadata":{}}
{"uuid":"u3","parentUuid":"u2","sessionId":"s","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{}}}]}}`), "")
	if strings.Count(got, "session file of Qwen Code") != 3 || strings.Contains(got, "fragment") {
		t.Errorf("got\n%s\nwant three rejected lines", got)
	}
}
