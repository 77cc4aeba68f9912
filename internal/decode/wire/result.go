package wire

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// ResultFields are the members of a result that the shapes have in common.
type ResultFields struct {
	field                                string // the name of the id
	id, call, name                       jsonscan.Value
	content, status, isError, kind, role jsonscan.Value
	data, kwargs, path                   jsonscan.Value // of the envelopes of LangChain
	bedrock                              jsonscan.Value // the member toolResult
	gemini, parts, tool                  jsonscan.Value // functionResponse, parts, and Ollama's tool_name
}

// ReadResult returns the members of a result.
func ReadResult(v jsonscan.Value) (b ResultFields) {
	v.Read(
		b.call.From("call"), b.name.From("name"), b.content.From("content"), b.content.From("output"),
		b.status.From("status"), b.isError.From("is_error"), b.kind.From("type"), b.role.From("role"),
		b.data.From("data"), b.kwargs.From("kwargs"), b.bedrock.From("toolResult"),
		b.gemini.From("functionResponse"), b.gemini.From("function_response"), b.parts.From("parts"),
		b.tool.From("tool_name"), b.path.From("id"),
	)
	b.content = Variant(b.content)
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "tool_call_id", "tool_use_id", "call_id", "toolUseId", "toolCallId", "callId":
			b.id, b.field = m.Value, m.Key
		}
	}
	return b
}

// Given returns the result of a client, whose status says nothing. The call of a local
// shell has no other id than that of the item.
func (b ResultFields) Given() ResultFields {
	b.status = jsonscan.Value{}
	if !Filled(b.id) && b.kind.Str == "local_shell_call_output" {
		b.id, b.field = b.path, "id"
	}
	return b
}

// Result emits the results in v, of any shape.
func (w *Writer) Result(v jsonscan.Value) *Problem {
	if !v.IsObject() {
		return WrongType("the result", v, "an object")
	}
	b := ReadResult(v)
	switch {
	case b.kind.Str == "constructor" && b.kwargs.IsObject():
		if name := LastOf(b.path).Str; !strings.HasPrefix(name, "ToolMessage") {
			return WrongShape("the message is a %q, not a ToolMessage", Clip(name))
		}
		return w.ToolResult(chunks.Chunk{}, ReadResult(b.kwargs))
	case b.data.IsObject() && b.id.Raw == "":
		if b.kind.Str != "tool" && b.kind.Str != "ToolMessage" {
			return WrongShape("the message is of type %q, not tool", Clip(b.kind.Str))
		}
		return w.ToolResult(chunks.Chunk{}, ReadResult(b.data))
	case b.bedrock.IsObject():
		return w.ToolResult(chunks.Chunk{}, ReadResult(b.bedrock))
	case b.gemini.IsObject():
		return w.GeminiResult(b.gemini)
	case b.parts.IsArray():
		return w.GeminiResults(b.parts)
	case b.tool.IsString() && b.id.Raw == "":
		return w.OllamaResult(v)
	case b.kind.Str == "mcp_approval_response":
		return w.mcpApproval(v)
	case b.role.Str == "user" && b.content.IsArray():
		return w.ToolResults(b.content)
	}
	return w.ToolResult(chunks.Chunk{}, b)
}

// IsError reports whether the result of an MCP tool states that it failed.
func IsError(result jsonscan.Value) bool {
	var camel, snake jsonscan.Value
	result.Read(camel.From("isError"), snake.From("is_error"))
	return camel.Kind == jsonscan.True || snake.Kind == jsonscan.True
}

// OutputFails reports whether the output of a tool of the AI SDK is that of an MCP tool which
// failed, or of a tool of Mastra whose input or output is not what its schema says.
func OutputFails(output jsonscan.Value) bool {
	var content, failed, faults jsonscan.Value
	output.Read(content.From("content"), failed.From("error"), faults.From("validationErrors"))
	return content.IsArray() && IsError(output) || failed.Kind == jsonscan.True && faults.Present()
}

// LastOf returns the last element of an array.
func LastOf(list jsonscan.Value) (last jsonscan.Value) {
	for e := list.Elements(); e.Next(); {
		last = e.Value
	}
	return last
}

// ToolResults emits the tool_result blocks of a user message.
func (w *Writer) ToolResults(content jsonscan.Value) (first *Problem) {
	found := false
	for e := content.Elements(); e.Next(); {
		b := ReadResult(e.Value)
		if b.bedrock.IsObject() {
			b = ReadResult(b.bedrock)
		} else if b.kind.Str != "tool_result" {
			w.Unknown("content block", b.kind.Str, e.Value)
			continue
		}
		found = true
		first = cmp.Or(first, w.ToolResult(chunks.Chunk{}, b))
	}
	if !found {
		return WrongShape("the user message has no tool_result block")
	}
	return first
}

// ToolResult emits one result. It has the message of the chunk of.
func (w *Writer) ToolResult(of chunks.Chunk, r ResultFields) *Problem {
	b := Body{Writer: w}
	c := chunks.Chunk{
		Kind: chunks.Result, Namespace: of.Namespace, Message: of.Message, Choice: of.Choice, Repeated: of.Repeated,
		Name: b.Text("name", r.name), Call: b.Text("call", r.call),
	}
	if r.field == "" {
		r.field = "tool_call_id"
	}
	c.ID = b.Text(r.field, r.id)
	c.Status = b.resultStatus(r)
	c.Content, c.Text = w.ContentOf(r.content)
	if b.Problem != nil {
		return b.Problem
	}
	if c.ID == "" && c.Call == "" {
		return WrongShape("the result names no call: %s is missing or empty", r.field)
	}
	w.Emit(c)
	return nil
}

// ContentOf returns an object or array as JSON, and any other value as text.
func (w *Writer) ContentOf(v jsonscan.Value) (content, text string) {
	if v.IsNested() {
		return w.Compact(v.Raw), ""
	}
	return "", w.Text(v)
}

// resultStatus returns success, error or denied. Anthropic sets is_error. For tools that
// it runs itself it sends an error object as content.
func (b *Body) resultStatus(r ResultFields) string {
	if r.isError.Kind == jsonscan.True {
		return "error"
	}
	if r.isError.Present() && r.isError.Kind != jsonscan.False {
		b.Fail(WrongType("is_error", r.isError, "a boolean"))
	}
	if r.content.IsObject() && strings.HasSuffix(r.kind.Str, "tool_result") && strings.HasSuffix(r.content.Member("type").Str, "_error") {
		return "error"
	}
	switch status := b.Text("status", r.status); status {
	case "", "completed": // Responses uses the latter
		return "success"
	case "incomplete":
		return "error"
	default:
		return b.OneOf("status", status, "success", "error", "denied")
	}
}

func (w *Writer) mcpApproval(v jsonscan.Value) *Problem {
	var id, approve, reason jsonscan.Value
	v.Read(id.From("approval_request_id"), approve.From("approve"), reason.From("reason"))
	b := Body{Writer: w}
	c := chunks.Chunk{
		Kind: chunks.Result, ID: b.Text("approval_request_id", id), Status: "success", Text: b.Text("reason", reason),
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

// OllamaResult emits a result of Ollama, which names its tool and, in newer
// versions, its call.
func (w *Writer) OllamaResult(message jsonscan.Value) *Problem {
	r := ReadResult(message)
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(r.id), Name: w.Text(r.tool), Status: "success"}
	if c.ID == "" && c.Name == "" {
		return WrongShape("the result names no call: tool_name and tool_call_id are missing or empty")
	}
	c.Content, c.Text = w.ContentOf(r.content)
	w.Emit(c)
	return nil
}
