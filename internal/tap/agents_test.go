package tap

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// anthropicCall is the stream of a message with one call.
func anthropicCall(message, id, tool, args string) string {
	return `event: message_start
data: {"type":"message_start","message":{"id":"` + message + `","type":"message","role":"assistant","content":[],"model":"m"}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"` + id + `","name":"` + tool + `","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + quote(args) + `}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

event: message_stop
data: {"type":"message_stop"}

`
}

func anthropicText(message, text string) string {
	return `event: message_start
data: {"type":"message_start","message":{"id":"` + message + `","type":"message","role":"assistant","content":[],"model":"m"}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quote(text) + `}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

event: message_stop
data: {"type":"message_stop"}

`
}

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}

// TestClaudeCode: the requests of Claude Code's subagent have the session of its main
// conversation. They are found by the prompt in the args of the call that caused them.
// Titles and counts of tokens are no part of the conversation, and reminders no message of a
// person.
func TestClaudeCode(t *testing.T) {
	prompt := "Find the northern supplier and report its prices."
	answers := map[string]string{ // by the last thing that the request has
		"Compare the suppliers.": anthropicCall("msg_1", "toolu_task", "Task", `{"description":"North","prompt":"`+prompt+`"}`),
		prompt:                   anthropicCall("msg_2", "toolu_read", "Read", `{"file":"prices.csv"}`),
		"12 EUR":                 anthropicText("msg_3", "It is 12 EUR."),
		"It is 12 EUR.":          anthropicText("msg_4", "The northern one costs 12 EUR."),
		"title":                  anthropicText("msg_5", "Suppliers"),
	}
	url, l, tp := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		best := ""
		for last := range answers {
			if at := strings.LastIndex(string(body), last); at > strings.LastIndex(string(body), best) || best == "" && at >= 0 {
				best = last
			}
		}
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, answers[best])
	}), nil)
	send := func(path, system, messages, rest string) {
		post(t, url+"/anthropic/v1/"+path, `{"model":"m","system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1"},{"type":"text","text":"`+system+`"}],"messages":[`+messages+`]`+rest+`}`,
			"X-Claude-Code-Session-Id", "0b6e", "X-Api-Key", "k")
	}
	tools := `,"tools":[{"name":"Task"},{"name":"Read"}]`
	ask := `{"role":"user","content":[{"type":"text","text":"<system-reminder>be brief</system-reminder>"},{"type":"text","text":"Compare the suppliers."}]}`
	send("messages/count_tokens", "main", ask, tools)
	send("messages", "main", `{"role":"user","content":"title"}`, "")
	send("messages?beta=true", "main", ask, tools)
	task := `{"role":"user","content":[{"type":"text","text":"<system-reminder>other</system-reminder>"},{"type":"text","text":"` + prompt + `"}]}`
	send("messages", "agent", task, tools)
	send("messages", "agent", task+`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_read","name":"Read","input":{"file":"prices.csv"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_read","content":"12 EUR"}]}`, tools)
	send("messages", "main", ask+`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_task","name":"Task","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_task","content":"It is 12 EUR."},{"type":"text","text":"<system-reminder>todo</system-reminder>"}]}`, tools)
	closeTap(t, tp)
	want := `0b6e: human Compare the suppliers.
0b6e: call toolu_task Task
0b6e: args toolu_task {"description":"North","prompt":"Find the northern supplier and report its prices."}
0b6e/Task|toolu_task: call toolu_read Read toolu_task
0b6e/Task|toolu_task: args toolu_read {"file":"prices.csv"}
0b6e/Task|toolu_task: result toolu_read completed "12 EUR"
0b6e: result toolu_task completed "It is 12 EUR."
0b6e: run completed`
	if got := l.story(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
