package decode

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// Result reads the body of a result input, one of these or an array of them:
//
//	{"tool_call_id","call"?,"content","status"?: "success","error","denied"}   native
//	{"type":"tool","tool_call_id","content","status"?,"name"?}                 LangChain ToolMessage, flat,
//	                                                                           as {type,data}, or as lc constructor
//	{"role":"tool","tool_call_id","content"}                                   OpenAI chat
//	{"type":"tool_result","tool_use_id","content"?,"is_error"?}                Anthropic, also inside a user message
//	{"toolResult":{"toolUseId","content","status"?}}                           Bedrock Converse, likewise
//	{"type":"function_call_output","call_id","output"}                         OpenAI Responses, custom tools too
//	{"type":"mcp_approval_response","approval_request_id","approve","reason"?} likewise, the answer of a person
//	{"functionResponse":{"id"?,"name","response"}}                             Gemini, also inside a content's parts
//	{"role":"tool","tool_name","content"}                                      Ollama
//
// The last two name no call where the wire has no ids: then they mean the
// oldest open call of the tool.
//
// It returns a Result chunk for each that is usable, and the first Problem.
// Their strings may share memory with data. What of the native shape would close
// a call with a result that was not meant is a Problem: see checkNative.
func Result(data []byte) ([]chunks.Chunk, *Problem) { return results(data, checkNative) }

// results reads one result or an array of them; those that check refuses are
// not used.
func results(data []byte, check func(gjson.Result) *Problem) ([]chunks.Chunk, *Problem) {
	text := trim(alias(data))
	if text == "" {
		return nil, &Problem{Code: BadShape, Text: "the result is empty"}
	}
	if p := checkJSON(text); p != nil {
		p.Offset += trimmed(alias(data), 0, 0).base
		return nil, p
	}
	var r Reader
	one := func(v gjson.Result) *Problem {
		if p := check(v); p != nil {
			return p
		}
		return r.result(v)
	}
	v := valueOf(text)
	if !isArray(v) {
		problem := one(v)
		return whole(r.out), problem
	}
	var first *Problem
	for i, e := 0, elements(v); e.next(); i++ {
		if p := one(e.value); p != nil && first == nil {
			p.Text = fmt.Sprintf("result %d: %s", i, p.Text)
			first = p
		}
	}
	return whole(r.out), first
}

// resultBody is what the shapes of a result have in common.
type resultBody struct {
	field                                string // the name of the id
	id, call, name                       gjson.Result
	content, status, isError, kind, role gjson.Result
	data, kwargs, path                   gjson.Result // of LangChain's wrappings
	bedrock                              gjson.Result // what stands under toolResult
	gemini, parts, tool                  gjson.Result // functionResponse, parts, and Ollama's tool_name
}

func resultFields(v gjson.Result) (b resultBody) {
	for m := members(v); m.next(); {
		switch m.key {
		case "tool_call_id", "tool_use_id", "call_id", "toolUseId":
			b.id, b.field = m.value, m.key
		case "call":
			b.call = m.value
		case "name":
			b.name = m.value
		case "content", "output":
			b.content = m.value
		case "status":
			b.status = m.value
		case "is_error":
			b.isError = m.value
		case "type":
			b.kind = m.value
		case "role":
			b.role = m.value
		case "data":
			b.data = m.value
		case "kwargs":
			b.kwargs = m.value
		case "toolResult":
			b.bedrock = m.value
		case "functionResponse", "function_response":
			b.gemini = m.value
		case "parts":
			b.parts = m.value
		case "tool_name":
			b.tool = m.value
		case "id":
			b.path = m.value
		}
	}
	return b
}

// result emits the results in v, whatever their shape.
func (r *Reader) result(v gjson.Result) *Problem {
	if !isObject(v) {
		return wrongType("the result", v, "an object")
	}
	b := resultFields(v)
	switch {
	case b.kind.Str == "constructor" && isObject(b.kwargs):
		if name := lastOf(b.path).Str; !strings.HasPrefix(name, "ToolMessage") {
			return &Problem{Code: BadShape, Text: fmt.Sprintf("the message is a %q, not a ToolMessage", clip(name))}
		}
		return r.toolResult(resultFields(b.kwargs))
	case isObject(b.data) && b.id.Raw == "":
		if b.kind.Str != "tool" && b.kind.Str != "ToolMessage" {
			return &Problem{Code: BadShape, Text: fmt.Sprintf("the message is of type %q, not tool", clip(b.kind.Str))}
		}
		return r.toolResult(resultFields(b.data))
	case isObject(b.bedrock):
		return r.toolResult(resultFields(b.bedrock))
	case isObject(b.gemini):
		return r.geminiResult(b.gemini)
	case isArray(b.parts):
		return r.geminiResults(b.parts)
	case b.tool.Type == gjson.String && b.id.Raw == "":
		return r.ollamaResult(v)
	case b.kind.Str == "mcp_approval_response":
		return r.responsesApproval(v)
	case b.role.Str == "user" && isArray(b.content):
		return r.toolResults(b.content)
	}
	return r.toolResult(b)
}

func lastOf(list gjson.Result) (last gjson.Result) {
	for e := elements(list); e.next(); {
		last = e.value
	}
	return last
}

// toolResults emits the tool_result blocks of a user's message.
func (r *Reader) toolResults(content gjson.Result) (first *Problem) {
	found := false
	for e := elements(content); e.next(); {
		b := resultFields(e.value)
		if isObject(b.bedrock) {
			b = resultFields(b.bedrock)
		} else if b.kind.Str != "tool_result" {
			continue
		}
		found = true
		if p := r.toolResult(b); p != nil && first == nil {
			first = p
		}
	}
	if !found {
		return &Problem{Code: BadShape, Text: "the user message has no tool_result block"}
	}
	return first
}

// toolResult emits one result.
func (r *Reader) toolResult(b resultBody) *Problem {
	w := body{r: r}
	c := chunks.Chunk{Kind: chunks.Result, Name: w.text("name", b.name), Call: w.text("call", b.call)}
	if b.field == "" {
		b.field = "tool_call_id"
	}
	c.ID = w.text(b.field, b.id)
	c.Status = w.resultStatus(b)
	if b.content.Type == gjson.JSON {
		c.Content = r.compact(b.content.Raw)
	} else {
		c.Text = r.text(b.content)
	}
	if w.problem != nil {
		return w.problem
	}
	if c.ID == "" && c.Call == "" {
		return &Problem{Code: BadShape, Text: "the result names no call: " + b.field + " is missing or empty"}
	}
	r.emit(c)
	return nil
}

// resultStatus gives success, error or denied. Anthropic says is_error, or
// puts an error object in place of the content of its own tools.
func (w *body) resultStatus(b resultBody) string {
	switch b.isError.Type {
	case gjson.True:
		return "error"
	case gjson.False:
	default:
		if present(b.isError) {
			w.fail(wrongType("is_error", b.isError, "a boolean"))
		}
	}
	if isObject(b.content) && strings.HasSuffix(b.kind.Str, "tool_result") && strings.HasSuffix(member(b.content, "type").Str, "_error") {
		return "error"
	}
	status := w.text("status", b.status)
	switch status {
	case "":
		return "success"
	case "completed": // the Responses' word
		return "success"
	case "incomplete":
		return "error"
	}
	return w.oneOf("status", status, "success", "error", "denied")
}
