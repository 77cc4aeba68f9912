package decode

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// checkNative returns the Problem of a result of the native shape that differs from
// what the sender intended: a repeated field, a field that differs from a known one
// only in case, or an unknown field where content is missing. Other unknown fields are
// ignored, and a result without content is empty. Results of other shapes are not
// checked, because they have further fields.
func checkNative(v jsonscan.Value) *wire.Problem {
	if !native(v) {
		return nil
	}
	fields := []string{"tool_call_id", "call", "content", "status", "name"}
	var b body
	b.once(v, "result", fields)
	missing := v.Member("content").Raw == ""
	for m := v.Members(); m.Next(); {
		switch {
		case slices.Contains(fields, m.Key):
		case slices.Contains(fields, strings.ToLower(m.Key)):
			b.Fail(&wire.Problem{Code: wire.BadShape, Text: noField("result", m.Key, fields)})
		case missing:
			b.Fail(wire.WrongShape("content is missing, and the result has no field %q; its fields are %s", wire.Clip(m.Key), strings.Join(fields, ", ")))
		}
	}
	return b.Problem
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
