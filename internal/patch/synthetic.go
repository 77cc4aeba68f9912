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

// Shape is the shape of a history. The list of shapes is Shapes.
type Shape string

// The shapes.
const (
	LangChain Shape = "langchain"
	OpenAI    Shape = "openai"
	Anthropic Shape = "anthropic"
	Responses Shape = "responses"
	Bedrock   Shape = "bedrock"
)

// Shapes are all of them.
func Shapes() []Shape { return []Shape{LangChain, OpenAI, Anthropic, Responses, Bedrock} }

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
	switch shape {
	case LangChain:
		return json.RawMessage("{" + langchainFields(&c) + "}"), nil
	case OpenAI:
		return json.RawMessage(openAIFormat{}.synthetic(nil, &c)), nil
	case Anthropic:
		return json.RawMessage(`{"role":"user","content":[` + anthropicSynthetic(&c) + `]}`), nil
	case Responses:
		return json.RawMessage(responsesSynthetic(&c)), nil
	case Bedrock:
		return json.RawMessage(bedrockSynthetic(&c)), nil
	}
	return nil, fmt.Errorf("patch: unknown history shape %q (known: %s)", shape, wordList(Shapes()))
}
