package wire

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// GeminiResults emits the results in the parts of a content of the client's.
func (w *Writer) GeminiResults(parts jsonscan.Value) (first *Problem) {
	found := false
	for e := parts.Elements(); e.Next(); {
		v := FunctionResponse(e.Value)
		if !v.IsObject() {
			continue
		}
		found = true
		if p := w.GeminiResult(v); p != nil && first == nil {
			first = p
		}
	}
	if !found {
		return WrongShape("the content has no part with a functionResponse")
	}
	return first
}

// GeminiResult emits a result. Without an id it is that of the oldest open
// call of its name; one that will continue is a sign of life.
func (w *Writer) GeminiResult(v jsonscan.Value) *Problem {
	var id, name, response, more jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "name", "toolType", "tool_type":
			name = m.Value
		case "response":
			response = m.Value
		case "willContinue", "will_continue":
			more = m.Value
		}
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(id), Name: w.Text(name), Status: "success"}
	switch {
	case c.ID == "" && c.Name == "":
		return WrongShape("the functionResponse names no call: id and name are missing or empty")
	case more.Kind == jsonscan.True:
		if c.ID != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: c.ID})
		}
		return nil
	case response.Present() && !response.IsObject():
		return WrongType("functionResponse.response", response, "an object")
	}
	c.Content = "{}"
	if response.IsObject() {
		c.Content = w.Compact(response.Raw)
	}
	// By convention output is what a function gave, and error what went wrong.
	if response.Member("error").Present() && !response.Member("output").Present() {
		c.Status = "error"
	}
	w.Emit(c)
	return nil
}

// FunctionResponse returns the functionResponse of a Gemini part.
func FunctionResponse(part jsonscan.Value) (found jsonscan.Value) {
	for m := part.Members(); m.Next(); {
		switch m.Key {
		case "functionResponse", "function_response":
			found = m.Value
		}
	}
	return found
}

// OllamaResult emits a result of Ollama, which names its tool and, in newer
// versions, its call.
func (w *Writer) OllamaResult(message jsonscan.Value) *Problem {
	r := ReadResult(message)
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(r.id), Name: w.Text(r.tool), Status: "success"}
	if c.ID == "" && c.Name == "" {
		return WrongShape("the result names no call: tool_name and tool_call_id are missing or empty")
	}
	c.Content, c.Text = w.value(r.content)
	w.Emit(c)
	return nil
}

// mcpApproval emits the answer of a person to an mcp_approval_request of the
// Responses API.
func (w *Writer) mcpApproval(v jsonscan.Value) *Problem {
	b := Body{Writer: w}
	c := chunks.Chunk{Kind: chunks.Result, Status: "success"}
	var approve jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "approval_request_id":
			c.ID = b.Text(m.Key, m.Value)
		case "approve":
			approve = m.Value
		case "reason":
			c.Text = b.Text(m.Key, m.Value)
		}
	}
	switch {
	case b.Problem != nil:
		return b.Problem
	case approve.Kind == jsonscan.False:
		c.Status = "denied"
	case approve.Kind != jsonscan.True:
		return WrongType("approve", approve, "a boolean")
	}
	if c.ID == "" {
		return WrongShape("the result names no call: approval_request_id is missing or empty")
	}
	w.Emit(c)
	return nil
}
