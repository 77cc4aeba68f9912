package patch

import "strings"

// anthropicFormat is a history of Anthropic's messages. The results of a turn come
// first in the user's message that directly follows it.
// https://docs.anthropic.com/en/api/messages
type anthropicFormat struct{ plainBlocks }

func anthropic() format {
	return blockShape{anthropicFormat{plainBlocks{&facts{
		shape: Anthropic, list: "content", resultID: "tool_use_id", server: []string{"server_tool_use", "mcp_tool_use"},
		claims: "content:tool_use content:tool_result content:thinking content:redacted_thinking " +
			"content:server_tool_use content:mcp_tool_use content:*_tool_result content:tool_addition content:tool_removal",
		knows: "content:tool_reference",
	}}}}
}

// runs reports true: the API takes neighbours of one role for one turn. Claude Code stores
// a message for each block. The system that a profile reproduces does not.
func (anthropicFormat) runs(o Options) bool { return o.Profile == "" }

func (anthropicFormat) readBlock(h *history, m, n int, block string) bool {
	var kind, caller, signature, data string
	scan(block, to{"type", &kind}, to{"caller", &caller}, to{"signature", &signature}, to{"data", &data})
	switch text(kind) {
	case "tool_use":
		c := callIn(block, "id", "name", "input")
		c.at, c.repeated, c.parent = n, member(block, "toolset_name"), text(member(caller, "tool_id"))
		c.checkObjectArgs()
		h.addCall(m, c)
	case "thinking", "redacted_thinking":
		return text(signature)+text(data) != ""
	}
	return false
}

func (anthropicFormat) isCall(block string) bool { return text(member(block, "type")) == "tool_use" }

func (anthropicFormat) readResult(n int, block string) (result, bool) {
	return anthropicResult(n, block)
}

func anthropicResult(n int, block string) (result, bool) {
	r, kind := result{block: n, raw: block}, ""
	scan(block, to{"type", &kind}, to{"tool_use_id", &r.idText}, to{"content", &r.content})
	r.id = text(r.idText)
	return r, text(kind) == "tool_result"
}

func (anthropicFormat) call(c *call, block string) string {
	return c.rewritten(block, "id", "name", "input")
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
