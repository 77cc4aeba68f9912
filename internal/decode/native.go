package decode

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// checkNative reports what makes a result of the native shape another one than
// was meant: a field that stands twice, one that differs from a known one only
// in case, and an unknown one where content is missing. Other unknown fields are
// ignored, and a result without content is empty. Results of other shapes bring
// fields of their own.
func checkNative(v jsonscan.Value) *wire.Problem {
	if !native(v) {
		return nil
	}
	fields := []string{"tool_call_id", "call", "content", "status", "name"}
	b := newBody()
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

// native reports whether an object has none of the members by which the other
// shapes of a result are known.
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
