// Package patch writes tool results that are missing: a synthetic result for one
// closed call, and all results that a history lacks.
//
// Repair is a pure function of a history and options. It reads no clock and uses no
// randomness, so the same input returns the same bytes in every process. A message
// that needs no change keeps its bytes, and a history that needs no change is
// returned as it is. The input is never modified. Repairing a repaired history with
// the same options changes nothing, except under a profile. Every real result is in
// the output or named in the report. Time and memory grow linearly with the input.
package patch

import (
	"encoding/json"
	"fmt"

	"streamer/internal/events"
)

// Call is the call that a synthetic result answers.
type Call struct {
	ID, Name string
	Kind     string // custom, mcp_approval_request…; "" and function mean a function call
	Parent   string // the id of the call that made this one, "" for the model
}

// Synthetic returns the tool result of a call that was closed without one, as a
// message that can be appended to a history of the shape:
//
//	langchain  {"type":"tool","status":"error",…}, a ToolMessage
//	openai     {"role":"tool",…}
//	anthropic  {"role":"user","content":[{"type":"tool_result","is_error":true,…}]}
//	responses  {"type":"function_call_output","call_id",…}, or the item for the call's kind
//	bedrock    {"role":"user","content":[{"toolResult":{"status":"error",…}}]}
//	gemini     {"role":"user","parts":[{"functionResponse":{"response":{"error":…}}}]}
//	langchain-ex  {"role":"tool","tool_results":[{"is_error":true,…}]}
//	claude-code  {"type":"user","message":{…}}, the message as for anthropic
//	openai-agents  {"type":"function_call_result","callId",…}
//	otel  {"role":"tool","parts":[{"type":"tool_call_response",…}]}
//
// An unknown shape is an error.
func Synthetic(shape Shape, of Call, reason events.Text, text string) (json.RawMessage, error) {
	c := call{
		id: of.ID, idText: quote(of.ID), name: of.Name, kind: of.Kind, parent: of.Parent,
		content: quote(text), reason: string(reason), isError: true,
	}
	if f := formatNamed(shape); f != nil {
		return json.RawMessage(f.message(&c)), nil
	}
	return nil, fmt.Errorf("patch: unknown history shape %q (known: %s)", shape, wordList(Shapes()))
}
