package patch_test

import (
	"fmt"
	"strings"
)

// asAGUI returns the messages of an event, as described in
// https://docs.ag-ui.com/concepts/messages.
func asAGUI(i int, e event) (messages []object) {
	id := fmt.Sprintf("m%d", i)
	switch e.kind {
	case "result":
		if e.inside { // an activity between the call and its result
			messages = append(messages, object{"id": id + "a", "role": "activity", "activityType": "PLAN", "content": object{"steps": []any{}}})
		}
		return append(messages, object{"id": id, "role": "tool", "toolCallId": e.id, "content": e.text})
	case "turn":
		if e.signed {
			messages = append(messages, object{"id": id + "r", "role": "reasoning", "content": "hm", "encryptedValue": "c2ln"})
		}
		m := object{"id": id, "role": "assistant", "content": e.text}
		var calls []object
		for _, c := range e.calls {
			calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args}})
		}
		if calls != nil {
			m["toolCalls"] = calls
		}
		return append(messages, m)
	}
	return []object{{"id": id, "role": e.kind, "content": e.text}}
}

// asAIModel returns messages with the events, as described in
// https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message.
func asAIModel(s []event) (messages []object) {
	for i, e := range s {
		switch e.kind {
		case "result":
			part := object{"type": "tool-result", "toolCallId": e.id, "toolName": e.name, "output": object{"type": "text", "value": e.text}}
			n := len(messages)
			if n > 0 && (e.joined && messages[n-1]["role"] == "tool" || e.inside && messages[n-1]["role"] == "assistant") {
				messages[n-1]["content"] = append(messages[n-1]["content"].([]object), part)
				continue
			}
			messages = append(messages, object{"role": "tool", "content": []object{part}})
		case "turn":
			messages = append(messages, object{"role": "assistant", "content": aiModelTurn(e, asks(s, i))})
		default:
			messages = append(messages, object{"role": e.kind, "content": e.text})
		}
	}
	return messages
}

func aiModelTurn(e event, asks bool) []object {
	parts := []object{}
	if e.signed {
		parts = append(parts, object{"type": "reasoning", "text": "hm", "providerOptions": object{"anthropic": object{"signature": "c2ln"}}})
	}
	if e.text != "" {
		parts = append(parts, object{"type": "text", "text": e.text})
	}
	if what, id, ok := strings.Cut(e.server, " "); ok {
		parts = append(parts, object{"type": "tool-call", "toolCallId": id, "toolName": "search", "input": object{}, "providerExecuted": true})
		if what == "done" {
			parts = append(parts, object{"type": "tool-result", "toolCallId": id, "toolName": "search", "output": object{"type": "json", "value": []any{}}})
		}
	}
	for i, c := range e.calls {
		parts = append(parts, object{"type": "tool-call", "toolCallId": c.id, "toolName": c.name, "input": parsed(c.args)})
		if asks && c.views == 3 && c.id != "" {
			parts = append(parts, object{"type": "tool-approval-request", "approvalId": fmt.Sprintf("%s-ap%d", c.id, i), "toolCallId": c.id})
		}
	}
	return parts
}

// asks reports whether a turn may ask a person: a message of the user follows its
// results. A call that waits at the end keeps its id and stays open.
func asks(s []event, turn int) bool {
	for _, e := range s[turn+1:] {
		if e.kind != "result" {
			return e.kind == "user"
		}
	}
	return false
}

// asAIUI returns the message of an event, as described in
// https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message, nil for a result, which is
// part of its call.
func asAIUI(s []event, i int) object {
	e := s[i]
	parts := []object{}
	if e.text != "" {
		parts = append(parts, object{"type": "text", "text": e.text})
	}
	switch e.kind {
	case "result":
		return nil
	case "turn":
		if e.signed {
			parts = append(parts, object{"type": "reasoning", "text": "hm", "providerMetadata": object{"anthropic": object{"signature": "c2ln"}}})
		}
		taken := map[int]bool{}
		for _, c := range e.calls {
			parts = append(parts, aiUIPart(c, resultOf(s, i, c, taken), asks(s, i)))
		}
		return object{"id": fmt.Sprintf("m%d", i), "role": "assistant", "parts": parts}
	}
	return object{"id": fmt.Sprintf("m%d", i), "role": e.kind, "parts": parts}
}

// resultOf returns the first result of a call between its turn and the next one that
// is not taken.
func resultOf(s []event, turn int, c toolCall, taken map[int]bool) *event {
	for i := turn + 1; i < len(s) && s[i].kind != "turn"; i++ {
		if s[i].kind == "result" && s[i].id == c.id && !taken[i] {
			taken[i] = true
			return &s[i]
		}
	}
	return nil
}

func aiUIPart(c toolCall, r *event, asks bool) object {
	part := object{"type": "tool-" + c.name, "toolCallId": c.id, "state": "input-available", "input": parsed(c.args)}
	if part["input"] == nil {
		part["input"] = object{}
	}
	if c.views&1 > 0 {
		part["type"], part["toolName"] = "dynamic-tool", c.name
	}
	switch {
	case r != nil && r.fake:
		part["state"], part["errorText"] = "output-error", r.text
	case r != nil:
		part["state"], part["output"] = "output-available", r.text
	case c.kindOf == "shell_call":
		part["state"] = "input-streaming"
	case c.kindOf == "custom_tool_call" && asks:
		part["state"], part["approval"] = "approval-requested", object{"id": "ap"}
	case c.kindOf == "local_shell_call" && asks:
		part["state"], part["approval"] = "approval-responded", object{"id": "ap", "approved": c.views > 1}
	}
	return part
}
