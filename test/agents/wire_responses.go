package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// responses is OpenAI's Responses.
type responses struct {
	seq    int
	output []object
}

func (r *responses) send(s *stream, v object) {
	v["sequence_number"] = r.seq
	r.seq++
	s.send(v)
}

func (r *responses) response(s *stream, status string) object {
	return object{
		"id": s.id("resp_"), "object": "response", "created_at": 1, "status": status, "model": s.model, "output": append([]object{}, r.output...),
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "parallel_tool_calls": true,
		"temperature": 1, "tool_choice": "auto", "tools": []object{}, "top_p": 1,
	}
}

func (r *responses) begin(s *stream) {
	r.send(s, object{"type": "response.created", "response": r.response(s, "in_progress")})
}

func (r *responses) text(s *stream, text string) {
	index := len(r.output)
	id := fmt.Sprintf("msg_%d_%d", s.turn, index)
	part := func(text string) object {
		return object{"type": "output_text", "text": text, "annotations": []object{}}
	}
	item := func(status string, content ...object) object {
		return object{"id": id, "type": "message", "role": "assistant", "status": status, "content": append([]object{}, content...)}
	}
	at := func(kind string, v object) {
		v["type"], v["item_id"], v["output_index"], v["content_index"] = kind, id, index, 0
		r.send(s, v)
	}
	r.send(s, object{"type": "response.output_item.added", "output_index": index, "item": item("in_progress")})
	at("response.content_part.added", object{"part": part("")})
	for _, t := range halves(text) {
		at("response.output_text.delta", object{"delta": t, "logprobs": []object{}})
	}
	at("response.output_text.done", object{"text": text, "logprobs": []object{}})
	at("response.content_part.done", object{"part": part(text)})
	r.done(s, item("completed", part(text)))
}

func (r *responses) done(s *stream, item object) {
	r.send(s, object{"type": "response.output_item.done", "output_index": len(r.output), "item": item})
	r.output = append(r.output, item)
}

func (r *responses) call(s *stream, c modelCall, open bool) {
	index := len(r.output)
	id := "fc_" + strings.TrimPrefix(c.ID, "call_")
	item := func(status, args string) object {
		return object{"id": id, "type": "function_call", "status": status, "call_id": c.ID, "name": c.Name, "arguments": args}
	}
	r.send(s, object{"type": "response.output_item.added", "output_index": index, "item": item("in_progress", "")})
	for _, a := range halves(c.Args) {
		r.send(s, object{"type": "response.function_call_arguments.delta", "item_id": id, "output_index": index, "delta": a})
	}
	if open {
		r.output = append(r.output, item("incomplete", c.Args))
		return
	}
	r.send(s, object{"type": "response.function_call_arguments.done", "item_id": id, "output_index": index, "name": c.Name, "arguments": c.Args})
	r.done(s, item("completed", c.Args))
}

func (r *responses) end(s *stream, reason string) {
	status := "completed"
	if reason == "length" {
		status = "incomplete"
	}
	v := r.response(s, status)
	if status == "incomplete" {
		v["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	v["usage"] = object{
		"input_tokens": 9, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens": 5,
		"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 14,
	}
	if s.whole {
		writeJSON(s.w, v)
		return
	}
	r.send(s, object{"type": "response." + status, "response": v})
}

func (*responses) results(q request) (list []result) {
	var input []struct {
		Type   string
		CallID string `json:"call_id"`
		Output json.RawMessage
	}
	_ = json.Unmarshal(q.Input, &input) // a string has no results
	for _, i := range input {
		if strings.HasSuffix(i.Type, "_output") {
			list = append(list, result{i.CallID, plainText(i.Output)})
		}
	}
	return list
}
