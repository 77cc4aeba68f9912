package patch

import (
	"cmp"
	"strings"
)

// langchainFormat is a history of LangChain's messages in one of three forms: flat
// ({"type":"ai","content",…}), from messages_to_dict ({"type","data":{…}}), or from
// dumps ({"lc":1,"id":[…],"kwargs":{…}}).
// https://python.langchain.com/api_reference/core/messages.html
type langchainFormat struct{ *facts }

func langchain() format {
	return messageShape{langchainFormat{&facts{
		shape: LangChain, server: []string{"server_tool_use", "mcp_tool_use", "server_tool_call"},
		claims: "lc type:ai type:AIMessage type:assistant type:human type:HumanMessage type:user type:tool type:ToolMessage " +
			"type:system type:developer type:function type:remove type:chat type:SystemMessage type:FunctionMessage type:RemoveMessage type:ChatMessage",
		knows: "type:constructor .tool_calls .invalid_tool_calls .tool_call_chunks .tool_call_id .additional_kwargs .artifact " +
			".tool_calls.id .tool_calls.name .tool_calls.args .tool_calls.function" + inList(".content:", langchainBlocks),
	}}}
}

// langchainBlocks are the types of blocks that can be in a message's content: calls, which
// are read, and what adapters leave there that repeats a call or was run by the provider.
const langchainBlocks = "tool_use tool_call invalid_tool_call function_call custom_tool_call tool_result *_tool_result " +
	"tool_call_chunk input_json_delta server_tool_use server_tool_call server_tool_call_chunk server_tool_result mcp_tool_use " +
	"functionCall functionResponse executableCode codeExecutionResult executable_code code_execution_result " +
	"function_call_signature web_search_call file_search_call code_interpreter_call image_generation_call computer_call " +
	"mcp_call mcp_list_tools mcp_approval_request tool_search_call tool_search_output non_standard reasoning-*"

// invalid is the kind of a call that LangChain could not parse.
const invalid = "invalid"

func langchainRole(kind string) role {
	switch strings.TrimSuffix(kind, "Chunk") {
	case "ai", "AIMessage", "assistant":
		return assistant
	case "human", "HumanMessage", "user":
		return user
	case "tool", "ToolMessage":
		return tool
	}
	return other
}

type langchainMessage struct {
	kind   string // its type, or its class
	inner  string // the member that holds the fields: "", "data" or "kwargs"
	fields string
	path   string // class path of a constructor, as raw JSON
}

func langchainBody(raw string) langchainMessage {
	m := langchainMessage{fields: raw}
	class := ""
	for name, v := range members(raw) {
		switch {
		case name == "type":
			m.kind = text(v)
		case name == "data" && v[0] == '{', name == "kwargs" && v[0] == '{':
			m.inner, m.fields = name, v
		case name == "id" && v[0] == '[':
			m.path = v
			for _, part := range elements(v) {
				class = text(part)
			}
		}
	}
	if m.inner == "kwargs" || m.kind == "constructor" {
		m.kind = class
	}
	return m
}

func (f langchainFormat) read(h *history, m int) {
	body := langchainBody(h.at(m))
	switch h.role[m] = langchainRole(body.kind); h.role[m] {
	case assistant:
		f.readTurn(h, m, body)
	case tool:
		r, extra := result{}, ""
		scan(body.fields, to{"tool_call_id", &r.idText}, to{"name", &r.name}, to{"content", &r.content}, to{"additional_kwargs", &extra})
		r.id, r.name, r.placeholder = text(r.idText), text(r.name), member(extra, marker) != ""
		h.addResult(m, r)
	case user:
		if strings.Contains(body.fields, `"tool_result"`) {
			h.answerInside(member(body.fields, "content"))
		}
	}
}

// answerInside finds results among the blocks of a user's message, which
// Anthropic's adapter accepts too. They stay unchanged and answer the calls of the
// preceding turn.
func (h *history) answerInside(content string) {
	if len(h.turns) == 0 {
		return
	}
	t := h.turns[len(h.turns)-1]
	ids := map[string]bool{}
	for n, b := range elements(content) {
		if r, ok := anthropicResult(n, b); ok {
			ids[r.id] = true
		}
	}
	for c := t.from; c < t.to; c++ {
		h.calls[c].answeredInside = h.calls[c].answeredInside || h.calls[c].id != "" && ids[h.calls[c].id]
	}
}

// serverCall reads a block of Anthropic's, or LangChain's own form of it.
func (langchainFormat) serverCall(block string) (id, name string, ok bool) {
	id, name, ok = anthropicFormat{}.serverCall(block)
	return id, name, ok || text(member(block, "type")) == "server_tool_call" && ofServer(id)
}

func (langchainFormat) serverAnswer(block string) string {
	switch text(member(block, "type")) {
	case "server_tool_result": // of Python
		return text(member(block, "tool_call_id"))
	case "server_tool_call_result": // of JavaScript
		return text(member(block, "toolCallId"))
	}
	return anthropicFormat{}.serverAnswer(block)
}

// serverError returns no result in LangChain's own form: it has no error that both of its
// adapters write.
func (langchainFormat) serverError(h *history, block string) string {
	if text(member(block, "type")) == "server_tool_call" {
		return ""
	}
	return anthropicFormat{}.serverError(h, block)
}

// marker is the field that identifies a synthetic result.
const marker = "synthetic_tool_result"

func (langchainFormat) rewrite(h *history, m int, calls []call) string {
	raw := h.at(m)
	return langchainEdit(raw, func(fields string) string { return langchainPatched(fields, calls, h.opts.Invalid == "convert") })
}

func langchainPatched(fields string, calls []call, convert bool) string {
	converted := langchainConverted(calls, convert)
	fields = editMembers(fields, func(name, v string) string {
		switch name {
		case "tool_calls":
			v = langchainList(v, calls, viewCalls)
			if len(converted) > 0 {
				v = list(append(elementList(v), converted...))
			}
		case "invalid_tool_calls":
			if len(converted) > 0 {
				return "[]"
			}
			return langchainList(v, calls, viewInvalid)
		case "content":
			return langchainList(v, calls, viewContent)
		case "additional_kwargs":
			return editMember(v, "tool_calls", func(list string) string { return langchainList(list, calls, viewRaw) })
		}
		return v
	})
	if len(converted) > 0 && member(fields, "tool_calls") == "" {
		fields = setMember(fields, "tool_calls", list(converted))
	}
	return fields
}

func langchainConverted(calls []call, convert bool) []string {
	var out []string
	for _, c := range calls {
		if convert && c.kind == invalid && c.dropped == "" {
			out = append(out, `{"name":`+quote(c.finalName())+`,"args":{},"id":`+c.finalIDText()+`,"type":"tool_call"}`)
		}
	}
	return out
}

func langchainList(array string, calls []call, view int) string {
	queues := map[string][]int{}
	for i := range calls {
		if calls[i].view&view != 0 {
			queues[calls[i].id] = append(queues[calls[i].id], i)
		}
	}
	return editElements(array, func(_ int, element string) (string, bool) {
		id, ok := langchainID(element, view)
		queue := queues[id]
		if !ok || len(queue) == 0 {
			return element, true
		}
		queues[id] = queue[1:]
		c := calls[queue[0]]
		if c.view != view && view != viewCalls || c.kind == invalid && view != viewRaw {
			c.changedArgs = "" // the args are in another view
		}
		if c.dropped != "" {
			return "", false
		}
		return langchainElement(&c, element, view), true
	})
}

func langchainID(element string, view int) (string, bool) {
	if view != viewContent {
		return text(member(element, "id")), true
	}
	c, ok := langchainBlock(element)
	return c.id, ok
}

func langchainElement(c *call, element string, view int) string {
	if view == viewRaw || view == viewCalls && openAIStyle(element) {
		return openAIPatched(c, element)
	}
	id := "id"
	if view == viewContent && member(element, "call_id") != "" {
		id = "call_id"
	}
	return c.rewritten(element, id, "name", argsField(element))
}

func argsField(block string) string {
	switch text(member(block, "type")) {
	case "tool_use":
		return "input"
	case "function_call":
		return "arguments"
	}
	return "args"
}

func langchainEdit(raw string, change func(fields string) string) string {
	if body := langchainBody(raw); body.inner != "" {
		return editMember(raw, body.inner, change)
	}
	return change(raw)
}

func (langchainFormat) withID(raw, id string) string {
	return langchainEdit(raw, func(fields string) string { return setMember(fields, "tool_call_id", quote(id)) })
}

func (langchainFormat) synthetic(h *history, c *call) string {
	return h.formAt(c.message).write("tool", "ToolMessage", langchainFields(c))
}

func (langchainFormat) message(c *call) string { return "{" + langchainFields(c) + "}" }

func langchainFields(c *call) string {
	fields := `"type":"tool","content":` + c.content + `,"tool_call_id":` + c.finalIDText()
	if name := c.finalName(); name != "" {
		fields += `,"name":` + quote(name)
	}
	if c.isError {
		fields += `,"status":"error"`
	}
	if !c.real() {
		fields += `,"additional_kwargs":{"` + marker + `":` + quote(c.reason) + `}`
	}
	return fields
}

func (langchainFormat) userText(h *history, m int, content string) string {
	return langchainBody(h.at(m)).write("human", "HumanMessage", `"type":"human","content":`+content)
}

func (f langchainFormat) adopt(h *history, r *result) (turn, result string) {
	raw := h.at(r.message)
	call := `{"name":` + quote(cmp.Or(r.name, "unknown")) + `,"args":{},"id":` + quote(r.changedID) + `,"type":"tool_call"}`
	turn = langchainBody(raw).write("ai", "AIMessage", `"type":"ai","content":"","tool_calls":[`+call+`],"invalid_tool_calls":[]`)
	return turn, f.withID(raw, r.changedID)
}

// formAt returns a message in whose form results are written. It caches the message,
// because one may have many calls.
func (h *history) formAt(m int) langchainMessage {
	if h.formOf != m+1 {
		h.formOf, h.form = m+1, langchainBody(h.at(m))
	}
	return h.form
}

// write returns a message of another kind in the form of m.
func (m langchainMessage) write(kind, class, fields string) string {
	switch m.inner {
	case "data":
		return `{"type":"` + kind + `","data":{` + fields + `}}`
	case "kwargs":
		path := elementList(m.path)
		if len(path) > 0 {
			path[len(path)-1] = quote(class)
		}
		return `{"lc":1,"type":"constructor","id":` + list(path) + `,"kwargs":{` + fields + `}}`
	}
	return `{` + fields + `}`
}
