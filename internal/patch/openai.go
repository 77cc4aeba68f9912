package patch

// openAIFormat is a history of OpenAI's chat completions, which most other
// providers accept too.
// https://platform.openai.com/docs/api-reference/chat/create
type openAIFormat struct{ commonFormat }

func (openAIFormat) shape() Shape { return OpenAI }

func (openAIFormat) vocabulary() vocabulary {
	return vocabulary{
		claims: "tool_calls.function tool_calls.custom tool_call_id",
		knows:  "role:tool role:developer role:function tool_calls content:thinking content:redacted_thinking",
	}
}

func (f openAIFormat) read(h *history, m int) {
	var role, calls, content, id, name string
	signed := false
	for field, v := range members(h.at(m)) {
		switch field {
		case "role":
			role = text(v)
		case "tool_calls":
			calls = v
		case "content":
			content = v
		case "tool_call_id":
			id = v
		case "name":
			name = v
		case "thinking_blocks", "reasoning_details":
			signed = signed || signedBlocks(v)
		}
	}
	switch {
	case role != "assistant" && !isEmpty(calls):
		h.refuse(m, `"tool_calls" in a message of role %q`, role)
	case role != "tool" && text(id) != "":
		h.refuse(m, `"tool_call_id" in a message of role %q`, role)
	}
	switch role {
	case "assistant":
		h.addTurn(m).signed = signed
		for n, c := range elements(calls) {
			h.addCall(m, openAICall(n, c))
		}
	case "tool":
		h.role[m] = tool
		h.addResult(m, result{id: text(id), idText: id, name: text(name), content: content})
	case "user":
		h.role[m] = user
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

func openAITurn(h *history, m int, calls []call) string {
	return openAITurnIn(h, m, "tool_calls", calls)
}

func openAITurnIn(h *history, m int, field string, calls []call) string {
	return editMember(h.at(m), field, func(list string) string {
		return editElements(list, func(n int, element string) (string, bool) {
			return openAIPatched(&calls[n], element), calls[n].dropped == ""
		})
	})
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

func (f openAIFormat) render(h *history) { h.renderMessages(f) }

func (f openAIFormat) putTurn(h *history, t int) { h.putMessageTurn(f, t, openAITurn) }

func (openAIFormat) result(h *history, r *result) string {
	raw := h.at(r.message)
	if id := h.calls[r.call].finalID(); id != r.id {
		raw = setMember(raw, "tool_call_id", quote(id))
	}
	return raw
}

func (f openAIFormat) synthetic(_ *history, c *call) string { return f.message(c) }

func (openAIFormat) message(c *call) string {
	return `{"role":"tool","tool_call_id":` + c.finalIDText() + `,"content":` + c.content + `}`
}

func (openAIFormat) userText(_ *history, _ int, content string) string {
	return `{"role":"user","content":` + content + `}`
}

func (openAIFormat) adopt(h *history, r *result) (turn, result string) {
	id := quote(r.changedID)
	turn = `{"role":"assistant","content":null,"tool_calls":[{"id":` + id + `,"type":"function","function":{"name":` + quote(adoptedName(r)) + `,"arguments":"{}"}}]}`
	return turn, setMember(h.at(r.message), "tool_call_id", id)
}
