package patch

import "cmp"

// openAIFormat is a history of OpenAI's chat completions, which most other
// providers accept too.
// https://platform.openai.com/docs/api-reference/chat/create
type openAIFormat struct{ *facts }

func openAI() format {
	return messageShape{openAIFormat{&facts{
		shape:  OpenAI,
		claims: "tool_calls.function tool_calls.custom tool_call_id",
		knows: "role:tool role:developer role:function tool_calls function_call tool_args executed_tools content:thinking content:redacted_thinking " +
			"content:tool_reference content:tool_file", calls: "tool_calls", resultID: "tool_call_id",
	}}}
}

func (openAIFormat) read(h *history, m int) {
	var word, calls, content, id, name, toolName, thinking, details string
	scan(h.at(m), to{"role", &word}, to{"tool_calls", &calls}, to{"content", &content}, to{"tool_call_id", &id}, to{"name", &name}, to{"tool_name", &toolName},
		to{"thinking_blocks", &thinking}, to{"reasoning_details", &details})
	role := text(word)
	switch {
	case role != "assistant" && !isEmpty(calls):
		h.refuse(m, `"tool_calls" in a message of role %q`, role)
	case role != "tool" && text(id) != "":
		h.refuse(m, `"tool_call_id" in a message of role %q`, role)
	}
	switch role {
	case "assistant":
		h.addTurn(m).signed = signedBlocks(thinking) || signedBlocks(details)
		h.addOpenAICalls(m, calls, "")
	case "tool":
		h.role[m] = tool
		// Ollama has the name as "tool_name"
		h.addResult(m, result{id: text(id), idText: id, name: cmp.Or(text(name), text(toolName)), content: content})
	case "user":
		h.role[m] = user
	}
}

func (h *history) addOpenAICalls(m int, calls, item string) {
	for n, element := range elements(calls) {
		c := openAICall(n, element)
		c.item = item
		h.addCall(m, c)
	}
}

func openAICall(n int, raw string) call {
	c := call{at: n}
	for field, v := range members(raw) {
		switch field {
		case "id":
			c.id, c.idText = text(v), v
		case "function":
			c.name, c.args = text(member(v, "name")), member(v, "arguments")
		case "custom":
			c.kind = "custom"
			c.name, c.args = text(member(v, "name")), member(v, "input")
		}
	}
	if c.kind != "custom" {
		c.checkArgs()
	}
	return c
}

func openAIPatched(c *call, element string) string {
	element = c.rewritten(element, "id", "", "")
	if c.changedName == "" && c.changedArgs == "" {
		return element
	}
	field := "function"
	if c.kind == "custom" {
		field = "custom"
	}
	return setMember(element, field, c.rewritten(member(element, field), "", "name", "arguments"))
}

func (openAIFormat) message(c *call) string {
	return `{"role":"tool","tool_call_id":` + c.finalIDText() + `,"content":` + c.content + `}`
}

func (openAIFormat) userText(_ *history, _ int, content string) string {
	return `{"role":"user","content":` + content + `}`
}

func (openAIFormat) adopt(h *history, r *result) (turn, result string) {
	id := quote(r.changedID)
	turn = `{"role":"assistant","content":null,"tool_calls":[{"id":` + id + `,"type":"function","function":{"name":` + quote(cmp.Or(r.name, "unknown")) + `,"arguments":"{}"}}]}`
	return turn, setMember(h.at(r.message), "tool_call_id", id)
}
