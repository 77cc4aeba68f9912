// Package replies reads the answers of people, and the results of the tools of a frontend,
// in the requests of the clients of other protocols.
package replies

import (
	"encoding/json"
	"strings"

	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/tidwall/gjson"
)

// Input is an input for the session.
type Input struct {
	Kind inputs.Kind
	Body []byte
}

// answer is the body of an answer.
type answer struct {
	Call        string          `json:"call,omitempty"`
	InterruptID string          `json:"interrupt_id,omitempty"`
	Decision    string          `json:"decision"`
	Args        json.RawMessage `json:"args,omitempty"`
	Value       json.RawMessage `json:"value,omitempty"`
}

func (a *answer) input() Input {
	body, err := json.Marshal(a)
	if err != nil { // its parts were parsed
		panic(err)
	}
	return Input{inputs.Answer, body}
}

// to returns an answer to an interrupt as the encoders name it: by its id on the wire, by
// the name of its call, or by both, "<id>~<call>".
func to(id string) answer {
	if _, err := events.ParseID(id); err == nil {
		return answer{Call: id}
	}
	if i := strings.LastIndexByte(id, '~'); i >= 0 {
		if _, err := events.ParseID(id[i+1:]); err == nil {
			return answer{InterruptID: id[:i], Call: id[i+1:]}
		}
	}
	return answer{InterruptID: id}
}

// decide sets what a person decided, from a value in the form of the protocols: a boolean
// approved with a reason and editedArgs (AG-UI), or the decisions of LangChain's
// human-in-the-loop. Any other value is a reply, and no value is no answer: it reports false.
func (a *answer) decide(v gjson.Result) bool {
	one := v
	if list := v.Get("decisions").Array(); len(list) == 1 {
		one = list[0]
	}
	approved, kind := one.Get("approved"), one.Get("type").Str
	args := one.Get("editedArgs")
	if kind == "edit" {
		args = one.Get("edited_action.args")
	}
	switch {
	case args.IsObject():
		a.Decision, a.Args = "edit", json.RawMessage(args.Raw)
	case approved.Type == gjson.True, kind == "approve":
		a.Decision, a.Value = "approve", rawOf(one.Get("reason"))
	case approved.Type == gjson.False, kind == "reject":
		a.Decision, a.Value = "deny", rawOf(one.Get("reason"), one.Get("message"))
	default:
		a.Decision, a.Value = "reply", rawOf(v)
		return a.Value != nil
	}
	return true
}

// rawOf returns the first value that is present.
func rawOf(list ...gjson.Result) json.RawMessage {
	for _, v := range list {
		if v.Exists() && v.Type != gjson.Null {
			return json.RawMessage(v.Raw)
		}
	}
	return nil
}

// LangGraph reads a command of the agent protocol, and the answers of input.respond:
//
//	{"id","method":"input.respond","params":{"interrupt_id","response"}}
//	{"id","method":"input.respond","params":{"responses":[{"interrupt_id","response"}]}}
//
// https://github.com/langchain-ai/agent-protocol
func LangGraph(body []byte) (id json.RawMessage, method string, list []Input) {
	if !gjson.ValidBytes(body) {
		return nil, "", nil
	}
	c := gjson.ParseBytes(body)
	params := c.Get("params")
	entries := params.Get("responses").Array()
	if len(entries) == 0 {
		entries = []gjson.Result{params}
	}
	for _, e := range entries {
		id := e.Get("interrupt_id").Str
		if a := to(id); id != "" && a.decide(e.Get("response")) {
			list = append(list, a.input())
		}
	}
	return json.RawMessage(c.Get("id").Raw), c.Get("method").Str, list
}

// AGUI reads the resume of a RunAgentInput:
//
//	[{"interruptId","status":"resolved","payload"}, {"interruptId","status":"cancelled"}]
//
// One that is resolved without a payload is no answer: a client must send it to watch again.
// https://docs.ag-ui.com/concepts/interrupts
func AGUI(body []byte) (list []Input) {
	for _, e := range gjson.GetBytes(body, "resume").Array() {
		id := e.Get("interruptId").Str
		a := to(id)
		cancelled := e.Get("status").Str == "cancelled"
		if cancelled {
			a.Decision = "deny"
		}
		if id != "" && (cancelled || a.decide(e.Get("payload"))) {
			list = append(list, a.input())
		}
	}
	return list
}

// AISDK reads the last message of the body of useChat: the answers to approval requests, and
// the outputs of tools that the frontend ran.
//
//	{"type":"tool-NAME","toolCallId","state":"approval-responded","approval":{"id","approved","reason"?}}
//	{"type":"tool-NAME","toolCallId","state":"output-available","output"} or "output-error","errorText"
//
// https://ai-sdk.dev/docs/ai-sdk-ui/chatbot-tool-usage
//
// ok is false where the body has no list of messages.
func AISDK(body []byte) (list []Input, ok bool) {
	if !gjson.ValidBytes(body) || !gjson.GetBytes(body, "messages").IsArray() {
		return nil, false
	}
	messages := gjson.GetBytes(body, "messages").Array()
	if len(messages) == 0 || messages[len(messages)-1].Get("role").Str != "assistant" {
		return nil, true
	}
	for _, p := range messages[len(messages)-1].Get("parts").Array() {
		id, result := p.Get("toolCallId").Str, map[string]any{"tool_call_id": p.Get("toolCallId").Str}
		switch p.Get("state").Str {
		case "approval-responded":
			if a := to(p.Get("approval.id").Str); a.decide(p.Get("approval")) {
				list = append(list, a.input())
			}
			continue
		case "output-available":
			result["content"] = json.RawMessage(p.Get("output").Raw)
		case "output-error":
			result["content"], result["status"] = p.Get("errorText").Str, "error"
		default:
			continue
		}
		if content, err := json.Marshal(result); err == nil && id != "" && !p.Get("providerExecuted").Bool() {
			list = append(list, Input{inputs.Result, content})
		}
	}
	return list, true
}
