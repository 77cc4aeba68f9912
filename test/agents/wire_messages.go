package main

import "encoding/json"

// messages is Anthropic's Messages.
type messages struct{ blocks []object }

func (m *messages) begin(s *stream) {
	s.send(object{"type": "message_start", "message": m.message(s, nil)})
}

func (m *messages) message(s *stream, reason any) object {
	blocks := m.blocks
	if reason == nil {
		blocks = []object{}
	}
	return object{
		"id": s.id("msg_"), "type": "message", "role": "assistant", "model": s.model, "content": blocks,
		"stop_reason": reason, "stop_sequence": nil, "usage": object{"input_tokens": 9, "output_tokens": 5},
	}
}

func (m *messages) block(s *stream, head, whole object, deltas []object, open bool) {
	index := len(m.blocks)
	m.blocks = append(m.blocks, whole)
	s.send(object{"type": "content_block_start", "index": index, "content_block": head})
	for _, d := range deltas {
		s.send(object{"type": "content_block_delta", "index": index, "delta": d})
	}
	if !open {
		s.send(object{"type": "content_block_stop", "index": index})
	}
}

func (m *messages) text(s *stream, text string) {
	var deltas []object
	for _, t := range halves(text) {
		deltas = append(deltas, object{"type": "text_delta", "text": t})
	}
	m.block(s, object{"type": "text", "text": ""}, object{"type": "text", "text": text}, deltas, false)
}

func (m *messages) call(s *stream, c modelCall, open bool) {
	var deltas []object
	for _, a := range halves(c.Args) {
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": a})
	}
	input := object{}
	_ = json.Unmarshal([]byte(c.Args), &input) // invalid args have no place in a whole answer
	m.block(s, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}},
		object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input}, deltas, open)
}

func (m *messages) end(s *stream, reason string) {
	reason = map[string]string{"stop": "end_turn", "tool": "tool_use", "length": "max_tokens"}[reason]
	if s.whole {
		writeJSON(s.w, m.message(s, reason))
		return
	}
	s.send(object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 5}})
	s.send(object{"type": "message_stop"})
}

func (*messages) results(q request) (list []result) {
	for _, raw := range q.Messages {
		var m struct {
			Content []struct {
				Type, Text string
				ToolUseID  string `json:"tool_use_id"`
				Content    json.RawMessage
			}
		}
		_ = json.Unmarshal(raw, &m) // content that is a string has no results
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				list = append(list, result{b.ToolUseID, plainText(b.Content)})
			}
		}
	}
	return list
}
