package patch_test

import (
	"encoding/json"
	"slices"

	"streamer/internal/patch"
)

// validateFor returns the broken rules of a provider or an option that the corpus
// does not cover: the length of ids, their uniqueness in the history, the order of
// results, JSON args, and alternating roles.
func validateFor(shape patch.Shape, o patch.Options, messages []object) []violation {
	provider := o.Provider
	v := validator{provider: provider}
	if shape == patch.Gemini && (provider == "gemini" || o.Order == "call") {
		v.gemini(messages, true)
		return v.found
	}
	shape, messages = plain(shape, messages)
	alternating := messages
	if shape == patch.Anthropic {
		messages = joined(messages)
	}
	seen, before := map[string]bool{}, ""
	for i, m := range messages {
		calls := callsOf(shape, m)
		for _, c := range calls {
			if limit := idLimits[provider]; limit > 0 && len(c.id) > limit {
				v.breaks(i, "long_id")
			}
			if (provider == "anthropic" || provider == "bedrock") && seen[c.id] {
				v.breaks(i, "id_not_unique")
			}
			seen[c.id] = true
			if text, ok := c.input.(string); ok && (shape == patch.OpenAI || shape == patch.Responses || shape == patch.AGUI) && provider != "openai" && provider != "openai-chat40" && (text == "null" || !json.Valid([]byte(text))) {
				v.breaks(i, "args_not_json")
			}
		}
		if (provider == "gemini" || provider == "mistral" || o.Order == "call") && !inOrder(calls, resultsBehind(shape, messages[i+1:])) {
			v.breaks(i, "results_not_in_order")
		}
		role := str(alternating[i]["role"])
		if provider == "bedrock" && shape == patch.Anthropic && role == before && role != "system" {
			v.breaks(i, "roles_not_alternating")
		}
		before = role
	}
	return v.found
}

var idLimits = map[string]int{"openai": 64, "openai-chat40": 40}

// callsOf returns the calls of a message of any shape.
func callsOf(shape patch.Shape, m object) []seenCall {
	switch shape {
	case patch.AIModel:
		return aiModelCalls(m)
	case patch.AIUI:
		return aiUICalls(m)
	case patch.OpenAI, patch.LangChain, patch.AGUI:
		kind, m := chatKind(shape, m)
		if kind == "assistant" {
			return chatCalls(shape, m)
		}
	case patch.Anthropic:
		var calls []seenCall
		for _, b := range objects(m["content"]) {
			if b["type"] == "tool_use" {
				calls = append(calls, seenCall{str(b["id"]), str(b["name"]), b["input"]})
			}
		}
		return calls
	case patch.Responses:
		if outputOf[str(m["type"])] != "" {
			return []seenCall{{callID(m), str(m["name"]), m["arguments"]}}
		}
	}
	return nil
}

// resultsBehind returns the ids of the results that directly follow a message.
func resultsBehind(shape patch.Shape, rest []object) []string {
	var ids []string
	for _, m := range rest {
		switch shape {
		case patch.OpenAI, patch.LangChain, patch.AGUI:
			kind, m := chatKind(shape, m)
			if shape == patch.AGUI && (kind == "activity" || kind == "reasoning") {
				continue
			}
			if kind != "tool" {
				return ids
			}
			ids = append(ids, str(m["tool_call_id"])+str(m["toolCallId"]))
		case patch.AIModel:
			if m["role"] != "tool" {
				return ids
			}
			for _, p := range objects(m["content"]) {
				if p["type"] == "tool-result" {
					ids = append(ids, str(p["toolCallId"]))
				}
			}
		case patch.Anthropic:
			for _, b := range objects(m["content"]) {
				if b["type"] == "tool_result" {
					ids = append(ids, str(b["tool_use_id"]))
				}
			}
			return ids
		default:
			return ids
		}
	}
	return ids
}

func inOrder(calls []seenCall, results []string) bool {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c seenCall) bool { return !slices.Contains(results, c.id) })
	for i, c := range calls {
		if i < len(results) && results[i] != c.id {
			return false
		}
	}
	return true
}
