package patch

import "strings"

// anthropicFormat is a history of Anthropic's messages. The results of a turn come
// first in the user's message that directly follows it.
// https://docs.anthropic.com/en/api/messages
type anthropicFormat struct{ plainBlocks }

func (anthropicFormat) shape() Shape { return Anthropic }

func (anthropicFormat) vocabulary() vocabulary {
	return vocabulary{claims: "content:tool_use content:tool_result content:thinking content:redacted_thinking " +
		"content:server_tool_use content:mcp_tool_use content:*_tool_result"}
}

func (f anthropicFormat) onlyResults(h *history, m int) bool { return onlyResultBlocks(f, h, m) }

func (f anthropicFormat) read(h *history, m int) { readBlocks(f, h, m) }

func (f anthropicFormat) render(h *history) { renderBlocks(f, h) }

func (anthropicFormat) readBlock(h *history, m, n int, block string) bool {
	c := call{at: n}
	kind := ""
	signed := false
	for name, v := range members(block) {
		switch name {
		case "type":
			kind = text(v)
		case "id":
			c.id, c.idText = text(v), v
		case "name":
			c.name = text(v)
		case "input":
			c.args = v
		case "toolset_name":
			c.repeated = v
		case "caller":
			c.parent = text(member(v, "tool_id"))
		case "signature", "data":
			signed = signed || text(v) != ""
		}
	}
	if kind == "tool_use" {
		c.checkObjectArgs()
		h.addCall(m, c)
	}
	return signed && oneOf(kind, "thinking redacted_thinking")
}

func (anthropicFormat) isCall(block string) bool { return text(member(block, "type")) == "tool_use" }

func (anthropicFormat) readResult(n int, block string) (result, bool) {
	return anthropicResult(n, block)
}

func anthropicResult(n int, block string) (result, bool) {
	r := result{block: n, raw: block}
	kind := ""
	for name, v := range members(block) {
		switch name {
		case "type":
			kind = text(v)
		case "tool_use_id":
			r.id, r.idText = text(v), v
		case "content":
			r.content = v
		}
	}
	return r, kind == "tool_result"
}

func (anthropicFormat) call(c *call, block string) string {
	return c.rewritten(block, "id", "name", "input")
}

func (anthropicFormat) answer(_ *history, c *call, r *result) string {
	if c.finalID() != r.id {
		return setMember(r.raw, "tool_use_id", quote(c.finalID()))
	}
	return r.raw
}

func (f anthropicFormat) message(c *call) string {
	return f.results(nil, 0, []string{f.synthetic(c)})
}

func (anthropicFormat) synthetic(c *call) string {
	block := `{"type":"tool_result","tool_use_id":` + c.finalIDText() + `,"content":` + c.content
	if c.isError {
		block += `,"is_error":true`
	}
	if c.repeated != "" {
		block += `,"toolset_name":` + c.repeated
	}
	return block + "}"
}

func (anthropicFormat) adopt(r *result) (call, result string) {
	id := quote(r.changedID)
	return `{"type":"tool_use","id":` + id + `,"name":"unknown","input":{}}`, setMember(r.raw, "tool_use_id", id)
}

func (anthropicFormat) text(quoted string) string { return textBlock(quoted) }

func (anthropicFormat) note(h *history, r *result) []string {
	content := h.note(r)
	if strings.HasPrefix(content, "[") {
		return elementList(content)
	}
	return []string{textBlock(content)}
}
