package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// checkNative reports what makes a result of the native shape another one than
// was meant: a field that stands twice, one that differs from a known one only
// in case, and an unknown one where content is missing. Other unknown fields are
// ignored, and a result without content is empty. Results of other shapes bring
// fields of their own.
func checkNative(v gjson.Result) *Problem {
	if !native(v) {
		return nil
	}
	fields := []string{"tool_call_id", "call", "content", "status", "name"}
	var b body
	b.once(v, "result", fields)
	missing := member(v, "content").Raw == ""
	for m := members(v); m.next(); {
		switch {
		case slices.Contains(fields, m.key):
		case slices.Contains(fields, strings.ToLower(m.key)):
			b.fail(&Problem{Code: BadShape, Text: noField("result", m.key, fields)})
		case missing:
			b.fail(&Problem{Code: BadShape, Text: fmt.Sprintf("content is missing, and the result has no field %q; its fields are %s", clip(m.key), strings.Join(fields, ", "))})
		}
	}
	return b.problem
}

// native reports whether an object has none of the members by which the other
// shapes of a result are known.
func native(v gjson.Result) bool {
	for m := members(v); m.next(); {
		switch m.key {
		case "type", "role", "data", "kwargs", "toolResult", "functionResponse", "function_response", "parts",
			"tool_name", "tool_use_id", "toolUseId", "call_id", "output", "is_error":
			return false
		}
	}
	return true
}
