package decode

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Result reads the body of a result input, one of these or an array of them:
//
//	{"tool_call_id","call"?,"content","status"?: "success","error","denied",   native
//	 "tool_state"?: "stopped","finished_anyway","unknown"}
//	{"type":"tool","tool_call_id","content","status"?,"name"?}                 LangChain ToolMessage, flat,
//	                                                                           as {type,data}, or as lc constructor
//	{"role":"tool","tool_call_id","content"}                                   OpenAI chat
//	{"type":"tool_result","tool_use_id","content"?,"is_error"?}                Anthropic, also inside a user message
//	{"toolResult":{"toolUseId","content","status"?}}                           Bedrock Converse, likewise
//	{"type":"function_call_output","call_id","output"}                         OpenAI Responses, custom tools too
//	{"type":"mcp_approval_response","approval_request_id","approve","reason"?} likewise, the answer to an approval request
//	{"functionResponse":{"id"?,"name","response"}}                             Gemini, also inside a content's parts
//	{"role":"tool","tool_name","content"}                                      Ollama
//
// The last two name no call where the wire has no ids. They then belong to the oldest
// open call of the tool.
//
// Result returns a Result chunk for each usable result, and the first Problem. The
// chunks are valid until the Reader is used again. Their strings may share memory with
// data. A result of the native shape that
// is probably a mistake is a Problem; see checkNative.
func (r *Reader) Result(data []byte) ([]chunks.Chunk, *wire.Problem) {
	text := wire.Trim(wire.Alias(data))
	if text == "" {
		return nil, wire.WrongShape("the result is empty")
	}
	if p := wire.Check(text); p != nil {
		p.Offset += strings.Index(wire.Alias(data), text)
		return nil, p
	}
	w := &r.w
	w.Reset()
	one := func(v jsonscan.Value) *wire.Problem {
		state, p := checkNative(v)
		if p == nil {
			p = w.Result(v)
		}
		if p == nil && state != "" {
			list := w.Chunks()
			list[len(list)-1].Why = state
		}
		return p
	}
	v := jsonscan.ValueOf(text)
	if !v.IsArray() {
		problem := one(v)
		return w.Chunks(), problem
	}
	var first *wire.Problem
	for i, e := 0, v.Elements(); e.Next(); i++ {
		if p := one(e.Value); p != nil && first == nil {
			p.Text = fmt.Sprintf("result %d: %s", i, p.Text)
			first = p
		}
	}
	return w.Chunks(), first
}

// checkNative returns the tool_state of a result of the native shape, and the Problem of
// one that differs from what the sender intended: a repeated field, a field that differs
// from a known one only in case, or an unknown field where content is missing. Other
// unknown fields are ignored, and a result without content is empty. Results of other
// shapes are not checked, because they have further fields.
func checkNative(v jsonscan.Value) (state string, problem *wire.Problem) {
	if !native(v) {
		return "", nil
	}
	fields := []string{"tool_call_id", "call", "content", "status", "name", "tool_state"}
	b := newBody()
	b.once(v, "result", fields)
	missing := v.Member("content").Raw == ""
	if s := v.Member("tool_state"); s.Present() {
		state = b.OneOf("tool_state", b.word("tool_state", s), "stopped", "finished_anyway", "unknown")
		if state != "" && missing != (state != "finished_anyway") {
			b.Fail(wire.WrongShape("content belongs to the tool_state finished_anyway, and to no other"))
		}
	}
	for m := v.Members(); m.Next(); {
		switch {
		case slices.Contains(fields, m.Key):
		case slices.Contains(fields, strings.ToLower(m.Key)):
			b.Fail(&wire.Problem{Code: wire.BadShape, Text: noField("result", m.Key, fields)})
		case missing:
			b.Fail(wire.WrongShape("content is missing, and the result has no field %q; its fields are %s", wire.Clip(m.Key), strings.Join(fields, ", ")))
		}
	}
	return state, b.Problem
}

// native reports whether an object has none of the members that identify the other
// shapes of a result.
func native(v jsonscan.Value) bool {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type", "role", "data", "kwargs", "toolResult", "functionResponse", "function_response", "parts",
			"tool_name", "tool_use_id", "toolUseId", "call_id", "output", "is_error":
			return false
		}
	}
	return true
}
