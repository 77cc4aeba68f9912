package main

import "encoding/json"

// chat is OpenAI's Chat Completions.
type chat struct {
	content string
	calls   []object
}

func (c *chat) begin(s *stream) {
	c.delta(s, object{"role": "assistant", "content": ""}, nil)
}

func (c *chat) delta(s *stream, delta object, finish any) {
	s.send(object{
		"id": s.id("chatcmpl-"), "object": "chat.completion.chunk", "created": 1, "model": s.model,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (c *chat) text(s *stream, text string) {
	c.content += text
	for _, t := range halves(text) {
		c.delta(s, object{"content": t}, nil)
	}
}

func (c *chat) call(s *stream, t modelCall, _ bool) {
	index := len(c.calls)
	head := object{"id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": t.Args}}
	c.calls = append(c.calls, head)
	c.delta(s, object{"tool_calls": []object{{"index": index, "id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": ""}}}}, nil)
	for _, a := range halves(t.Args) {
		c.delta(s, object{"tool_calls": []object{{"index": index, "function": object{"arguments": a}}}}, nil)
	}
}

func (c *chat) end(s *stream, reason string) {
	if reason == "tool" {
		reason = "tool_calls"
	}
	usage := object{"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
	if s.whole {
		message := object{"role": "assistant", "content": c.content}
		if len(c.calls) > 0 {
			message["tool_calls"] = c.calls
		}
		writeJSON(s.w, object{
			"id": s.id("chatcmpl-"), "object": "chat.completion", "created": 1, "model": s.model, "usage": usage,
			"choices": []object{{"index": 0, "message": message, "finish_reason": reason}},
		})
		return
	}
	c.delta(s, object{}, reason)
	s.send(object{"id": s.id("chatcmpl-"), "object": "chat.completion.chunk", "created": 1, "model": s.model, "choices": []object{}, "usage": usage})
	_, _ = s.w.Write([]byte("data: [DONE]\n\n"))
}

func (*chat) results(q request) (list []result) {
	for _, raw := range q.Messages {
		var m struct {
			Role       string
			ToolCallID string `json:"tool_call_id"`
			Content    json.RawMessage
		}
		if json.Unmarshal(raw, &m) == nil && m.Role == "tool" {
			list = append(list, result{m.ToolCallID, plainText(m.Content)})
		}
	}
	return list
}
