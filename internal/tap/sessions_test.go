package tap

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestWholeAnswers: an answer without a stream is a message with its calls, in the form of
// each provider.
func TestWholeAnswers(t *testing.T) {
	call := `S: call call_w weather
		S: args call_w {"city":"Oslo"}`
	unnamed := `call ID weather`
	tests := []struct{ name, path, request, answer, want string }{
		{"openai-chat", "/openai/v1/chat/completions", `{"messages":[{"role":"user","content":"weather?"}]}`, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"call_w","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, call},
		{"openai-responses", "/openai/v1/responses", `{"input":"weather?"}`, `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]},{"id":"fc_1","type":"function_call","call_id":"call_w","name":"weather","arguments":"{\"city\":\"Oslo\"}","status":"completed"}]}`, call},
		{"anthropic", "/anthropic/v1/messages", `{"messages":[{"role":"user","content":"weather?"}]}`, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"call_w","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, call},
		{"vertex", "/gemini/v1/projects/p/locations/l/publishers/anthropic/models/claude:rawPredict", `{"messages":[{"role":"user","content":"weather?"}]}`, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"call_w","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, call},
		{"gemini", "/gemini/v1beta/models/m:generateContent?key=" + secretQuery, `{"contents":[{"role":"user","parts":[{"text":"weather?"}]}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_w","name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP","index":0}],"responseId":"r1"}`, call},
		{"gemini without ids", "/gemini/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"weather?"}]}]}`, `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP","index":0}],"responseId":"r1"}`, unnamed},
		{"gemini code assist", "/gemini/v1internal:generateContent", `{"model":"m","project":"p","user_prompt_id":"u","request":{"session_id":"G","tools":[{"functionDeclarations":[]}],"contents":[{"role":"user","parts":[{"text":"weather?"}]}]}}`, `{"response":{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_w","name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP","index":0}],"responseId":"r1"},"traceId":"t"}`, strings.ReplaceAll(call, "S:", "G:")},
		{"bedrock", "/openai/model/us.anthropic.claude%3A0/converse", `{"messages":[{"role":"user","content":[{"text":"weather?"}]}]}`, `{"output":{"message":{"role":"assistant","content":[{"text":"hi"},{"toolUse":{"toolUseId":"call_w","name":"weather","input":{"city":"Oslo"}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}`, call},
		{"bedrock invoke", "/openai/model/us.anthropic.claude%3A0/invoke", `{"messages":[{"role":"user","content":"weather?"}]}`, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"call_w","name":"weather","input":{"city":"Oslo"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`, call},
		{"cohere", "/openai/v2/chat", `{"messages":[{"role":"user","content":"weather?"}]}`, `{"id":"m1","message":{"role":"assistant","tool_plan":"hm","tool_calls":[{"id":"call_w","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"TOOL_CALL"}`, call},
		{"ollama", "/ollama/api/chat", `{"stream":false,"messages":[{"role":"user","content":"weather?"}]}`, `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"weather","arguments":{"city":"Oslo"}}}]},"done":true,"done_reason":"stop"}`, unnamed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url, l, tp := open(t, sse(test.answer), nil)
			if got := post(t, url+test.path, test.request, "X-Goog-Api-Key", secretKey); got != test.answer {
				t.Errorf("the client got %q", got)
			}
			if test.want == unnamed {
				closeTap(t, tp)
				story := l.story()
				if strings.Count(story, ": human weather?") != 1 || strings.Count(story, ": call ") != 1 || !strings.Contains(story, " weather") || !strings.HasSuffix(story, `{"city":"Oslo"}`) {
					t.Errorf("the log has\n%s", story)
				}
				return
			}
			checkStory(t, l, tp, "S: human weather?\n"+test.want)
		})
	}
}

// message returns an answer of Anthropic with a call, as a stream.
func message(id, tool, input string) string {
	return `event: message_start
data: {"type":"message_start","message":{"id":"msg_` + id + `","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + tool + `","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"` + strings.ReplaceAll(input, `"`, `\"`) + `"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`
}

// TestSubagent: the messages of a subagent of Claude Code are in a namespace, below the
// call whose args have its task.
func TestSubagent(t *testing.T) {
	const task = "Find every file that mentions Oslo"
	url, l, tp := open(t, sse(message("toolu_task", "Task", `{"description":"search","prompt":"`+task+`"}`), message("toolu_grep", "Grep", `{"pattern":"Oslo"}`), message("toolu_read", "Read", `{"path":"a"}`)), nil)
	send := func(messages string) {
		post(t, url+"/anthropic/v1/messages?beta=true", `{"model":"m","stream":true,"max_tokens":100,"tools":[{"name":"t"}],"messages":[`+messages+`]}`,
			"X-Claude-Code-Session-Id", "c1", "X-Api-Key", secretKey)
	}
	question := `{"role":"user","content":[{"type":"text","text":"<system-reminder>\nbe brief\n</system-reminder>"},{"type":"text","text":"where is Oslo?"}]}`
	send(question)
	first := `{"role":"user","content":[{"type":"text","text":"` + task + `"}]}`
	send(first)
	send(first + `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_grep","name":"Grep","input":{"pattern":"Oslo"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_grep","content":"a"}]}`)
	checkStory(t, l, tp, `c1: human where is Oslo?
		c1: call toolu_task Task
		c1: args toolu_task {"description":"search","prompt":"`+task+`"}
		c1/Task|toolu_task: call toolu_grep Grep toolu_task
		c1/Task|toolu_task: args toolu_grep {"pattern":"Oslo"}
		c1/Task|toolu_task: result toolu_grep completed "a"
		c1/Task|toolu_task: call toolu_read Read toolu_task
		c1/Task|toolu_task: args toolu_read {"path":"a"}`)
}

// TestApart: requests besides the conversation are passed on and not published.
func TestApart(t *testing.T) {
	tests := []struct{ name, path, body, header, value string }{
		{"a title", "/anthropic/v1/messages", `{"max_tokens":512,"messages":[{"role":"user","content":"title?"}]}`, "X-Claude-Code-Session-Id", "c1"},
		{"a title of OpenCode", "/openai/v1/chat/completions", `{"messages":[{"role":"user","content":"title?"}]}`, "X-Session-Id", "c1"},
		{"a quota", "/anthropic/v1/messages", `{"max_tokens":1,"tools":[{"name":"t"}],"messages":[{"role":"user","content":"quota"}]}`, "X-Claude-Code-Session-Id", "c1"},
		{"a count", "/anthropic/v1/messages/count_tokens", `{"tools":[{"name":"t"}],"messages":[{"role":"user","content":"weather?"}]}`, "X-Claude-Code-Session-Id", "c1"},
		{"a compaction", "/openai/v1/responses/compact", `{"input":"weather?","tools":[{"type":"function"}]}`, "Session-Id", "c1"},
		{"a compaction of Codex", "/openai/v1/responses", `{"input":"weather?","tools":[{"type":"function"}]}`, "X-Codex-Turn-Metadata", `{"session_id":"c1","request_kind":"compaction"}`},
		{"models", "/openai/v1/models", `{}`, "", ""},
		{"embeddings", "/openai/v1/embeddings", `{"input":"x"}`, "", ""},
		{"no JSON", "/openai/v1/chat/completions", `hello`, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url, l, tp := open(t, sse(chatCall), nil)
			headers := []string{"Authorization", "Bearer " + secretKey}
			if test.header != "" {
				headers = append(headers, test.header, test.value)
			}
			if got := post(t, url+test.path, test.body, headers...); got != chatCall {
				t.Errorf("the client got %q", got)
			}
			closeTap(t, tp)
			if len(l.inputs) > 0 {
				t.Errorf("published: %q", l.inputs)
			}
		})
	}
}

// TestOtherMethods: requests without a body are passed on.
func TestOtherMethods(t *testing.T) {
	url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Method+string(body))
	}), nil)
	for _, method := range []string{"GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "POST"} {
		req, err := http.NewRequest(method, url+"/openai/v1/responses", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(got) != method && method != "HEAD" {
			t.Errorf("got %q", got)
		}
	}
	closeTap(t, tp)
	if len(l.inputs) > 0 || tp.Warnings() != nil {
		t.Error(l.inputs, tp.Warnings())
	}
}

// TestKeptHistories: where the provider keeps the history, the same text may follow each
// answer, and is a message each time. A repetition of the request is none.
func TestKeptHistories(t *testing.T) {
	answer := func(id string) string {
		return `{"id":"` + id + `","object":"response","created_at":1,"status":"completed","model":"m","output":[{"id":"msg_` + id + `","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"go on?","annotations":[]}]}]}`
	}
	for name, requests := range map[string][]string{
		"previous_response_id": {`"input":"begin"`, `"input":"yes","previous_response_id":"resp_1"`, `"input":"yes","previous_response_id":"resp_2"`, `"input":"yes","previous_response_id":"resp_2"`},
		"conversation":         {`"input":"begin","conversation":"c"`, `"input":"yes","conversation":"c"`, `"input":"yes","conversation":{"id":"c"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			url, l, tp := open(t, sse(answer("resp_1"), answer("resp_2"), answer("resp_3"), answer("resp_4")), nil)
			for _, r := range requests {
				if r != "" {
					post(t, url+"/openai/v1/responses", `{"model":"m",`+r+`}`)
				}
			}
			closeTap(t, tp)
			if got := strings.Count(l.story(), ": human yes"); got != 2 {
				t.Errorf("%d times yes, want 2; the log has\n%s", got, l.story())
			}
		})
	}
}
