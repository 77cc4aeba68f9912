package patch_test

import (
	"slices"
	"strings"

	"streamer/internal/patch"
)

// This file renders scenarios as histories of Bedrock, Gemini and LangChain for
// Elixir, and validates such histories.

// asBlocks returns messages with the blocks of the events, joined as the events
// specify. model is the role of the model.
func asBlocks(s []event, field, model string, blocksOf func(event) []object) []object {
	var messages []object
	for _, e := range s {
		role := "user"
		if e.kind == "turn" || e.kind == "result" && e.inside {
			role = model
		}
		blocks := blocksOf(e)
		if n := len(messages); e.joined && (role == "user" || e.inside) && n > 0 && messages[n-1]["role"] == role {
			messages[n-1][field] = append(messages[n-1][field].([]object), blocks...)
			continue
		}
		messages = append(messages, object{"role": role, field: blocks})
	}
	return messages
}

func bedrockBlocks(e event) []object {
	switch e.kind {
	case "result":
		r := object{"toolUseId": e.id, "content": []object{{"text": e.text}}}
		if e.name == "" {
			r["status"] = "error"
		}
		return []object{{"toolResult": r}}
	case "turn":
	default:
		return []object{{"text": e.text}}
	}
	blocks := []object{}
	if e.signed {
		blocks = append(blocks, object{"reasoningContent": object{"reasoningText": object{"text": "hm", "signature": "c2ln"}}})
	}
	if what, id, ok := strings.Cut(e.server, " "); ok {
		blocks = append(blocks, object{"toolUse": object{"toolUseId": id, "name": "s", "input": object{}, "type": "server_tool_use"}})
		if what == "done" {
			blocks = append(blocks, object{"toolResult": object{"toolUseId": id, "content": []object{}}})
		}
	}
	for _, c := range e.calls {
		var input any = c.args
		if p, ok := parsed(c.args).(object); ok {
			input = p
		}
		blocks = append(blocks, object{"toolUse": object{"toolUseId": c.id, "name": c.name, "input": input}})
	}
	return append(blocks, object{"text": "t" + e.text})
}

// asGemini returns contents with the events. The number of events determines whether
// calls have ids, whether names are in snake_case, and the role of results.
func asGemini(s []event) []object {
	messages := asBlocks(s, "parts", "model", func(e event) []object {
		if len(s)%3 == 0 {
			e.id = ""
			e.calls = slices.Clone(e.calls)
			for i := range e.calls {
				e.calls[i].id = ""
			}
		}
		return geminiParts(e)
	})
	for _, m := range messages {
		results := len(geminiMembers(m, "functionResponse"))
		if len(s)%4 == 0 && m["role"] == "user" && results == len(m["parts"].([]object)) {
			m["role"] = "function"
		}
		for _, p := range m["parts"].([]object) {
			for from, to := range map[string]string{"functionCall": "function_call", "functionResponse": "function_response", "thoughtSignature": "thought_signature"} {
				if v, ok := p[from]; ok && len(s)%2 == 0 {
					p[to] = v
					delete(p, from)
				}
			}
		}
	}
	return messages
}

func geminiParts(e event) []object {
	switch e.kind {
	case "result":
		r := object{"name": e.name, "response": object{"output": e.text}}
		if e.id != "" {
			r["id"] = e.id
		}
		if e.fake {
			r["response"] = object{"error": e.text}
		}
		return []object{{"functionResponse": r}}
	case "turn":
	default:
		return []object{{"text": e.text, "functionResponse": nil}}
	}
	parts := []object{{"text": "t" + e.text}}
	for i, c := range e.calls {
		call := object{"name": c.name, "args": c.args}
		if p, ok := parsed(c.args).(object); ok {
			call["args"] = p
		}
		if c.id != "" {
			call["id"] = c.id
		}
		part := object{"functionCall": call}
		if e.signed && i == 0 {
			part["thoughtSignature"] = "c2ln"
		}
		parts = append(parts, part)
	}
	return parts
}

// asLangChainEx returns messages with the events. Results that are joined share a
// tool message.
func asLangChainEx(s []event) []object {
	var messages []object
	for _, e := range s {
		m := object{"role": e.kind, "content": []object{{"type": "text", "content": e.text}}, "status": "complete"}
		switch e.kind {
		case "result":
			r := object{"type": "function", "tool_call_id": e.id, "name": e.name, "content": []object{{"type": "text", "content": e.text}}, "is_error": false}
			if len(s)%2 == 0 {
				r["content"] = e.text
			}
			if n := len(messages); e.joined && n > 0 && messages[n-1]["role"] == "tool" {
				messages[n-1]["tool_results"] = append(messages[n-1]["tool_results"].([]object), r)
				continue
			}
			m = object{"role": "tool", "content": nil, "tool_results": []object{r}}
		case "turn":
			m["role"] = "assistant"
			if e.signed {
				m["content"] = []object{{"type": "thinking", "content": "hm", "options": object{"signature": "c2ln"}}}
			}
			var calls []object
			for _, c := range e.calls {
				call := object{"call_id": c.id, "type": "function", "name": c.name, "arguments": c.args}
				if p, ok := parsed(c.args).(object); ok && c.views > 0 {
					call["arguments"] = p
				}
				calls = append(calls, call)
			}
			if calls != nil {
				m["tool_calls"] = calls
			}
		}
		messages = append(messages, m)
	}
	return messages
}

// plain returns messages of Bedrock as those of Anthropic, and messages of LangChain
// for Elixir as those of OpenAI. Other shapes stay.
func plain(shape patch.Shape, messages []object) (patch.Shape, []object) {
	var out []object
	switch shape {
	case patch.Bedrock:
		for _, m := range messages {
			out = append(out, object{"role": m["role"], "content": anthropicBlocks(objects(m["content"]))})
		}
		return patch.Anthropic, out
	case patch.LangChainEx:
		for _, m := range messages {
			if m["role"] == "tool" {
				for _, r := range objects(m["tool_results"]) {
					out = append(out, object{"role": "tool", "tool_call_id": r["tool_call_id"]})
				}
				continue
			}
			var calls []any
			for _, c := range objects(m["tool_calls"]) {
				calls = append(calls, object{"id": c["call_id"], "function": object{"name": c["name"], "arguments": c["arguments"]}})
			}
			out = append(out, object{"role": m["role"], "tool_calls": calls})
		}
		return patch.OpenAI, out
	}
	return shape, messages
}

// anthropicBlocks returns blocks of Bedrock as those of Anthropic, without the calls
// that the provider answers.
func anthropicBlocks(blocks []object) []any {
	var out []any
	server := map[any]bool{}
	for _, b := range blocks {
		use, isUse := b["toolUse"].(object)
		result, isResult := b["toolResult"].(object)
		switch {
		case isUse && use["type"] != nil:
			server[use["toolUseId"]] = true
		case isUse:
			out = append(out, object{"type": "tool_use", "id": use["toolUseId"], "name": use["name"], "input": use["input"]})
		case isResult && !server[result["toolUseId"]]:
			out = append(out, object{"type": "tool_result", "tool_use_id": result["toolUseId"]})
		case !isResult:
			out = append(out, object{"type": "text"})
		}
	}
	return out
}

// alternate checks that no two messages in a row have the same role.
func (v *validator) alternate(messages []object) {
	for i, m := range messages {
		if i > 0 && m["role"] == messages[i-1]["role"] {
			v.breaks(i, "roles_not_alternating")
		}
	}
}

// geminiMembers returns the calls or results of a content.
func geminiMembers(m object, names ...string) (found []object) {
	for _, p := range objects(m["parts"]) {
		for _, name := range names {
			if o, ok := p[name].(object); ok {
				found = append(found, o)
			}
		}
	}
	return found
}

// gemini checks that the content behind a turn, which is a run of the model's
// contents, has one response for each call, with its id if both have one, otherwise
// with its name.
func (v *validator) gemini(messages []object, inOrder bool) {
	var open []object
	var calls []seenCall
	for i, m := range append(messages, nil) {
		responses := geminiMembers(m, "functionResponse", "function_response")
		if m["role"] != "model" {
			v.calls(i, calls)
			v.geminiResponses(i, open, responses, inOrder)
			open, calls = nil, nil
			continue
		}
		if len(responses) > 0 {
			v.breaks(i, "result_in_turn")
		}
		for _, c := range geminiMembers(m, "functionCall", "function_call") {
			if _, ok := c["args"].(object); !ok && c["args"] != nil {
				v.breaks(i, "input_not_object")
			}
			if c["id"] != nil {
				calls = append(calls, seenCall{id: str(c["id"]), name: str(c["name"])})
			} else if c["name"] == "" {
				v.breaks(i, "empty_name")
			}
			open = append(open, c)
		}
	}
}

func (v *validator) geminiResponses(at int, calls, responses []object, inOrder bool) {
	taken := make([]bool, len(calls))
	last := -1
	match := map[int]int{} // 1 + index of the call, by response
	for _, exact := range []bool{true, false} {
		for k, r := range responses {
			for i, c := range calls {
				if match[k] == 0 && !taken[i] && (c["id"] != nil && c["id"] == r["id"] || !exact && geminiFits(c, r)) {
					match[k], taken[i] = i+1, true
				}
			}
		}
	}
	for k, r := range responses {
		if r["name"] == "" {
			v.breaks(at, "empty_name")
		}
		fits := func(c object) bool { return geminiFits(c, r) }
		n := match[k] - 1
		switch {
		case n < 0 && slices.ContainsFunc(calls, fits):
			v.breaks(at, "duplicate_result")
		case n < 0:
			v.breaks(at, "orphan_result")
		default:
			if inOrder && n < last {
				v.breaks(at, "results_not_in_order")
			}
			last = n
		}
	}
	for i := range calls {
		if !taken[i] {
			v.breaks(at, "unanswered_call")
		}
	}
}

func geminiFits(call, response object) bool {
	if call["id"] != nil && response["id"] != nil {
		return call["id"] == response["id"]
	}
	return call["name"] == response["name"]
}

// elixirArgs checks that args are an object or a text with an object.
func (v *validator) elixirArgs(messages []object) {
	for i, m := range messages {
		for _, c := range objects(m["tool_calls"]) {
			args := c["arguments"]
			if text, ok := args.(string); ok {
				args = parsed(text)
			}
			if _, ok := args.(object); !ok && args != nil {
				v.breaks(i, "input_not_object")
			}
		}
	}
}
