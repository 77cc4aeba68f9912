// Package patch makes tool results where there are none.
package patch

import (
	"bytes"
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
func Synthetic(shape Shape, call Call, reason events.Text, text string) (json.RawMessage, error) {
	switch shape {
	case LangChain:
		return marshal(toolMessage{
			Type: "tool", Content: text, ToolCallID: call.ID, Name: call.Name, Status: "error",
			Extra: map[string]string{"synthetic_tool_result": string(reason)},
		})
	case OpenAI:
		return marshal(openAIMessage{Role: "tool", ToolCallID: call.ID, Content: text})
	case Anthropic:
		return marshal(anthropicMessage{Role: "user", Content: []toolResult{{
			Type: "tool_result", ToolUseID: call.ID, Content: text, IsError: true,
		}}})
	case Responses:
		return responses(call, json.RawMessage(quote(text)), false)
	case Bedrock:
		return bedrock(call, text)
	}
	return nil, fmt.Errorf("patch: unknown history shape %q (known: %v)", shape, Shapes())
}

type toolMessage struct {
	Type       string            `json:"type"`
	Content    string            `json:"content"`
	ToolCallID string            `json:"tool_call_id"`
	Name       string            `json:"name,omitempty"`
	Status     string            `json:"status"`
	Extra      map[string]string `json:"additional_kwargs"`
}

type openAIMessage struct {
	Role       string `json:"role"`
	ToolCallID string `json:"tool_call_id"`
	Content    string `json:"content"`
}

type anthropicMessage struct {
	Role    string       `json:"role"`
	Content []toolResult `json:"content"`
}

type toolResult struct {
	Type      string `json:"type"`
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error"`
}

// marshal is json.Marshal without escapes for HTML.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
