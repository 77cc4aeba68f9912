package patch_test

import (
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/patch"
)

// render returns a scenario as a history of a shape.
func render(shape patch.Shape, s []event) []byte {
	messages := []string{}
	add := func(m object) { messages = append(messages, asJSON(m)) }
	switch shape {
	case patch.OpenAI:
		for _, e := range s {
			add(asOpenAI(e))
		}
	case patch.LangChain:
		for _, e := range s {
			add(asLangChain(e))
		}
	case patch.Responses:
		for _, item := range withInside(s) {
			add(item)
		}
	case patch.Anthropic:
		for _, m := range asAnthropic(s) {
			add(m)
		}
	case patch.Bedrock:
		for _, m := range asBlocks(s, "content", "assistant", bedrockBlocks) {
			add(m)
		}
	case patch.Gemini:
		for _, m := range asGemini(s) {
			add(m)
		}
	case patch.LangChainEx:
		for _, m := range asLangChainEx(s) {
			add(m)
		}
	case patch.AGUI:
		for i, e := range s {
			for _, m := range asAGUI(i, e) {
				add(m)
			}
		}
	case patch.AIModel:
		for _, m := range asAIModel(s) {
			add(m)
		}
	case patch.AIUI:
		for i := range s {
			if m := asAIUI(s, i); m != nil {
				add(m)
			}
		}
	}
	return []byte("[" + strings.Join(messages, ", ") + "]")
}

func asOpenAI(e event) object {
	switch e.kind {
	case "result":
		return object{"role": "tool", "tool_call_id": e.id, "content": e.text}
	case "turn":
		m := object{"role": "assistant", "content": e.text}
		var calls []object
		for _, c := range e.calls {
			calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args}})
		}
		if calls != nil {
			m["tool_calls"] = calls
		}
		return m
	}
	return object{"role": e.kind, "content": e.text}
}

func asLangChain(e event) object {
	switch e.kind {
	case "result":
		return object{"type": "tool", "tool_call_id": e.id, "name": e.name, "content": e.text}
	case "turn":
		return langChainTurn(e)
	case "user":
		return object{"type": "human", "content": e.text}
	}
	return object{"type": e.kind, "content": e.text}
}

func langChainTurn(e event) object {
	calls, invalid, blocks, raw := []object{}, []object{}, []object{}, []object{}
	if e.signed {
		blocks = append(blocks, object{"type": "thinking", "thinking": "hm", "signature": "c2ln"})
	}
	for _, c := range e.calls {
		args, ok := parsed(c.args).(object)
		if !ok {
			invalid = append(invalid, object{"type": "invalid_tool_call", "id": c.id, "name": c.name, "args": c.args, "error": "bad"})
			continue
		}
		calls = append(calls, object{"type": "tool_call", "id": c.id, "name": c.name, "args": args})
		if c.views&1 > 0 && e.calls[0].views == 3 {
			blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": args})
		}
		if e.calls[0].views == 2 {
			raw = append(raw, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.args}})
		}
	}
	m := object{"type": "ai", "content": e.text, "tool_calls": calls, "invalid_tool_calls": invalid}
	if len(blocks) > 0 {
		m["content"] = blocks
	}
	if len(raw) > 0 {
		m["additional_kwargs"] = object{"tool_calls": raw}
	}
	return m
}

// parsed returns the value of JSON text, or the text itself if it is not JSON.
func parsed(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

// asResponses returns the items of an event, as described in
// https://platform.openai.com/docs/api-reference/responses.
func asResponses(e event) []object {
	switch e.kind {
	case "result":
		return []object{responsesOutput(e)}
	case "turn":
		var items []object
		if e.signed && (e.text != "" || len(e.calls) > 0) {
			reasoning := object{"type": "reasoning", "summary": []any{}, "encrypted_content": "c2ln"}
			if e.text != "" { // no other event has it
				reasoning["id"] = "rs_" + e.text
			}
			items = append(items, reasoning)
		}
		if e.text != "" {
			items = append(items, object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": e.text}}})
		}
		for _, c := range e.calls {
			items = append(items, responsesItem(c))
		}
		return items
	}
	return []object{{"type": "message", "role": e.kind, "content": e.text}}
}

// withInside returns the items of all events. An output that is inside stands
// between the reasoning before it and the item of that reasoning.
func withInside(s []event) (items []object) {
	for _, e := range s {
		n := len(items)
		if e.inside && n > 1 && items[n-2]["type"] == "reasoning" {
			items = slices.Insert(items, n-1, asResponses(e)...)
			continue
		}
		items = append(items, asResponses(e)...)
	}
	return items
}

func responsesItem(c toolCall) object {
	m := object{"type": c.kindOf, "call_id": c.id, "status": "completed"}
	switch c.kindOf {
	case "custom_tool_call":
		m["name"], m["input"] = c.name, c.args
	case "local_shell_call", "shell_call", "computer_call":
		m["action"] = object{"type": "screenshot"}
	case "apply_patch_call":
		m["operation"] = object{"type": "delete_file", "path": "a"}
	default:
		return object{"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.args}
	}
	return m
}

func responsesOutput(e event) object {
	m := object{"type": e.kindOf + "_output", "call_id": e.id, "output": e.text}
	switch e.kindOf {
	case "", "local_shell_call":
		m["type"] = "function_call_output"
	case "shell_call":
		m["output"] = []object{{"stdout": e.text, "stderr": "", "outcome": object{"type": "exit", "exit_code": 0}}}
	case "apply_patch_call":
		m["status"] = "completed"
	case "computer_call":
		m["output"] = object{"type": "computer_screenshot", "image_url": e.text}
	}
	return m
}

// asAnthropic returns messages with the events, joined as the events specify.
func asAnthropic(s []event) []object {
	var messages []object
	for _, e := range s {
		role, blocks := "user", []object{}
		switch e.kind {
		case "system":
			role, blocks = "system", append(blocks, object{"type": "text", "text": e.text})
		case "user":
			blocks = append(blocks, object{"type": "text", "text": e.text})
		case "result":
			blocks = append(blocks, object{"type": "tool_result", "tool_use_id": e.id, "content": e.text})
			if e.inside {
				role = "assistant"
			}
		case "turn":
			role, blocks = "assistant", anthropicTurn(e)
		}
		if n := len(messages); e.joined && (role == "user" || e.inside) && n > 0 && messages[n-1]["role"] == role {
			messages[n-1]["content"] = append(messages[n-1]["content"].([]object), blocks...)
			continue
		}
		messages = append(messages, object{"role": role, "content": blocks})
	}
	for i, m := range messages {
		if blocks := m["content"].([]object); len(blocks) == 1 && blocks[0]["type"] == "text" && i%2 == 0 {
			m["content"] = blocks[0]["text"]
		}
	}
	return messages
}

func anthropicTurn(e event) []object {
	blocks := []object{}
	if e.signed {
		blocks = append(blocks, object{"type": "thinking", "thinking": "hm", "signature": "c2ln"})
	}
	if e.text != "" {
		blocks = append(blocks, object{"type": "text", "text": e.text})
	}
	if what, id, ok := strings.Cut(e.server, " "); ok {
		name := "web_search"
		if what == "unknown" {
			name = "advisor"
		}
		blocks = append(blocks, object{"type": "server_tool_use", "id": id, "name": name, "input": object{}})
		if what == "done" {
			blocks = append(blocks, object{"type": "web_search_tool_result", "tool_use_id": id, "content": []any{}})
		}
	}
	for _, c := range e.calls {
		var input any = c.args
		if p, ok := parsed(c.args).(object); ok {
			input = p
		}
		blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": input})
	}
	if len(blocks) == 0 {
		blocks = append(blocks, object{"type": "text", "text": "hm"})
	}
	return blocks
}
