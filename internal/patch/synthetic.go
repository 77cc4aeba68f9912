// Package patch makes tool results where there are none: one for a call that
// was closed, and all that a history lacks.
//
// Repair is a pure function of a history and options: it reads no clock and no
// chance, and the same input gives the same bytes everywhere. A message that
// needs no change keeps its bytes, and a history that needs none is returned as
// it came. Work and memory grow linearly with the input.
package patch

import (
	"encoding/json"
	"fmt"

	"streamer/internal/events"
)

// Call is the call a synthetic result answers.
type Call struct {
	ID, Name string
	Kind     string // custom, mcp_approval_request…; "" and function are the usual one
	Parent   string // the id of the call that made this one, "" for the model
}

// Synthetic gives the tool result for a call that was closed without one, as a
// message ready to append to a history of that shape:
//
//	langchain  {"type":"tool","status":"error",…}, a ToolMessage
//	openai     {"role":"tool",…}
//	anthropic  {"role":"user","content":[{"type":"tool_result","is_error":true,…}]}
//	responses  {"type":"function_call_output","call_id",…}, or what the call's kind takes
//	bedrock    {"role":"user","content":[{"toolResult":{"status":"error",…}}]}
//
// It refuses a shape it does not know.
func Synthetic(shape Shape, of Call, reason events.Text, text string) (json.RawMessage, error) {
	c := call{
		id: of.ID, idText: quote(of.ID), name: of.Name, kind: of.Kind, parent: of.Parent,
		content: quote(text), reason: string(reason), isError: true,
	}
	for _, f := range shapes {
		if f.shape() == shape {
			return json.RawMessage(f.message(&c)), nil
		}
	}
	return nil, fmt.Errorf("patch: unknown history shape %q (known: %s)", shape, wordList(Shapes()))
}
