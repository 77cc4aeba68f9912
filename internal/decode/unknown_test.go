package decode

import (
	"fmt"
	"strings"
	"testing"
)

// TestUnknownParts checks which unknown parts are rejected, that the text names the type
// and the member that shows a call, and that the rest of the event is used.
func TestUnknownParts(t *testing.T) {
	const lost = ": it belongs to a call, and was not read"
	for _, c := range []struct{ format, event, want string }{
		{"openai-chat", `{"choices":[{"index":0,"delta":{"content":"a","calls":[{"id":"c","function":{"name":"f"}}]}}],"id":"m"}`, `the delta has the unknown member "calls" with "function"`},
		{"openai-chat", `{"choices":[{"index":0,"delta":{"content":"a","reasoning_details":[{"type":"reasoning.text","id":"r","text":"t"}],"tool_call_id":"","audio":{"id":"a","data":"x"}}}],"id":"m","usage":{"tool_use_prompt_tokens":3}}`, ""},
		{"openai-responses", `{"type":"response.remote_call.added","item":{"id":"i","call_id":"c"}}`, `the event of the unknown type "response.remote_call.added" has "call_id"`},
		{"openai-responses", `{"type":"response.output_item.added","output_index":0,"item":{"type":"remote_call","id":"i","name":"f"}}`, `the item of the unknown type "remote_call" has "name"`},
		{"openai-responses", `{"type":"response.session","session":{"tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":{"function":"f"}}}`, ""},
		{"anthropic", `{"type":"content_block_start","index":0,"content_block":{"type":"remote","id":"i","name":"f","input":{}}}`, `the content block of the unknown type "remote" has "input"`},
		{"anthropic", `{"type":"content_block_start","index":0,"content_block":{"type":"container_upload","file_id":"f"}}`, ""},
		{"gemini", `{"candidates":[{"content":{"parts":[{"text":"a"},{"mcpCall":{"name":"f","args":{"a":1}}}]}}]}`, `the part of the unknown type "mcpCall" has "name"`},
		{"bedrock", `{"contentBlockStart":{"contentBlockIndex":0,"start":{"mcpUse":{"toolUseId":"c","name":"f"}}}}`, `contentBlockStart.start has the unknown member "mcpUse" with "toolUseId"`},
		{"ag-ui", `{"type":"TOOL_CALL_PAUSED","toolCallId":"c"}`, `the event of the unknown type "TOOL_CALL_PAUSED" has "toolCallId"`},
		{"ag-ui", `{"type":"METRICS","tokens":{"input":3}}`, ""},
		{"codex-exec", `{"type":"item.started","item":{"id":"i","type":"image_paint","path":"a.png"}}`, `the item of the unknown type "image_paint" has "path"`},
		{"acp", `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"call_moved","toolCallId":"c"}}}`, `the session/update of the unknown type "call_moved" has "toolCallId"`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.event), func(t *testing.T) {
			var m State
			var r Reader
			got := transcript(&r, &m, []byte(c.event), c.format)
			if c.want != "" && !strings.Contains(got, "problem bad_shape at 0 line 0: "+c.want+lost+"\n") || c.want == "" && strings.Contains(got, "problem") {
				t.Errorf("%s: %s\ngot %s\nwant %q", c.format, c.event, got, c.want)
			}
			if strings.Contains(c.event, `"a"`) && c.format != "gemini" && !strings.Contains(got, `Text="a"`) {
				t.Errorf("%s: %s\ngot %s\nwithout the text", c.format, c.event, got)
			}
		})
	}
}

// TestListsInLogs checks that a list with a call between the lines of a terminal program
// is rejected, and that other lists are plain text.
func TestListsInLogs(t *testing.T) {
	for line, want := range map[string]bool{
		`["call",{"tool_call_id":"c"}]`: true,
		`["info",{"level":1}]`:          false,
		`[info] {"tool_call_id":"c"}`:   false,
	} {
		t.Run(line, func(t *testing.T) {
			var m State
			var r Reader
			transcript(&r, &m, []byte(`{"type":"turn.started"}`), "")
			if got := strings.Contains(transcript(&r, &m, []byte(line), ""), "problem"); got != want {
				t.Errorf("%s: rejected %v, want %v", line, got, want)
			}
		})
	}
}

// TestKnownParts reads the parts that have members of calls and no call of their own.
func TestKnownParts(t *testing.T) {
	for _, c := range []struct{ format, event string }{
		{"openai-responses", `{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}}`},
		{"openai-responses", `{"type":"response.output_item.added","output_index":0,"item":{"type":"program","id":"p","call_id":"c","code":"x"}}`},
		{"openai-responses", `{"type":"response.mcp_call.in_progress","output_index":0,"item_id":"i"}`},
		{"langchain", `["custom",{"tool":"search","args":{"q":1}}]`},
		{"langchain", `["tasks",{"id":"t","name":"tools","input":{"tool_call":{"id":"c"}},"triggers":[]}]`},
		{"langchain", `["tools",{"event":"on_tool_start","toolCallId":"c","input":{}}]`},
		{"langchain", `{"event":"on_chain_stream","run_id":"r","data":{"chunk":{"tool_calls":[{"id":"c"}]}}}`},
		{"langgraph-protocol", `{"type":"event","method":"custom","params":{"namespace":[],"data":{"tool_call_id":"c"}}}`},
		{"vercel-ui", `{"type":"data-plan","data":{"toolCallId":"c"}}`},
		{"vercel-ui", `{"type":"raw","rawValue":{"type":"content_block_start","tool_use_id":"c"}}`},
		{"ag-ui", `{"type":"RAW","event":{"tool_call_id":"c"}}`},
		{"ag-ui", `{"type":"CUSTOM","name":"x","value":{"tool_call_id":"c"}}`},
		{"ag-ui", `{"type":"META_EVENT","payload":{"toolCallId":"c"}}`},
		{"ag-ui", `{"type":"STATE_SNAPSHOT","snapshot":{"toolCalls":[{"id":"c"}]}}`},
		{"ag-ui", `{"type":"ACTIVITY_SNAPSHOT","messageId":"m","content":{"toolCallId":"c"}}`},
		{"claude-code", `{"type":"system","subtype":"task_started","tool_use_id":"c","session_id":"s","uuid":"u"}`},
		{"claude-code", `{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback","tool_use_id":"c","input":{"tool_name":"f"}}}`},
		{"claude-code", `{"type":"tool_use_summary","summary":"x","preceding_tool_use_ids":["c"],"session_id":"s","uuid":"u"}`},
		{"claude-code", `{"type":"transcript_mirror","entries":[{"tool_use_id":"c"}],"session_id":"s","uuid":"u"}`},
		{"cursor-agent", `{"type":"interaction_query","subtype":"request","query":{"id":1,"webSearchRequestQuery":{"args":{"toolCallId":"c"}}},"session_id":"s"}`},
		{"acp", `{"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"command":"ls","args":["-l"]}}`},
		{"acp", `{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"path":"a","toolCallId":"c"}}`},
		{"acp", `{"jsonrpc":"2.0","method":"_vendor/call","params":{"toolCallId":"c"}}`},
		{"acp", `{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"mcpServers":[{"command":"x","args":["y"]}]}}`},
	} {
		t.Run(fmt.Sprintf("%.60s", c.event), func(t *testing.T) {
			var m State
			var r Reader
			if got := transcript(&r, &m, []byte(c.event), c.format); got != "" {
				t.Errorf("%s: %s\ngot %s", c.format, c.event, got)
			}
		})
	}
}

// TestCursorAgentIsRecognised checks which lines decide between Claude Code and Cursor's
// CLI, whose other lines are alike.
func TestCursorAgentIsRecognised(t *testing.T) {
	const prompt = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Hi"}]},"session_id":"s"}`
	const init = `{"type":"system","subtype":"init","apiKeySource":"login","session_id":"s"`
	const call = `{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"readToolCall":{"args":{}}},"session_id":"s"}`
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{init + `}`}, "cursor-agent"},
		{[]string{init + `,"tools":["Read"]}`}, "claude-code"},
		{[]string{init + `,"uuid":"u"}`}, "claude-code"},
		{[]string{init + `,"claude_code_version":"2"}`}, "claude-code"},
		{[]string{prompt}, ""},
		{[]string{prompt, `{"type":"assistant","message":{"role":"assistant","content":[]},"session_id":"s"}`}, "cursor-agent"},
		{[]string{prompt, `{"type":"assistant","message":{"id":"m","role":"assistant","content":[]},"session_id":"s"}`}, "claude-code"},
		{[]string{prompt, `{"type":"thinking","subtype":"completed","session_id":"s"}`}, "cursor-agent"},
		{[]string{init + `,"uuid":"u"}`, prompt, call}, "cursor-agent"},
		{[]string{call}, "cursor-agent"},
		{[]string{`{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","request_id":"r"}`}, "cursor-agent"},
		{[]string{`{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","uuid":"u"}`}, "claude-code"},
	} {
		t.Run(c.want, func(t *testing.T) {
			var m State
			var r Reader
			for _, line := range c.lines {
				if got := transcript(&r, &m, []byte(line), ""); strings.Contains(got, "problem") {
					t.Errorf("%s\ngot %s", line, got)
				}
			}
			if m.Format != c.want {
				t.Errorf("%s\nis of the format %q, want %q", strings.Join(c.lines, "\n"), m.Format, c.want)
			}
		})
	}
}
