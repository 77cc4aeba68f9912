package patch

import (
	"strings"

	"streamer/internal/jsonscan"
)

// openAIFormat is a history of OpenAI's chat completions, which most others
// take too: https://platform.openai.com/docs/api-reference/chat/create
type openAIFormat struct{}

func (openAIFormat) shape() Shape { return OpenAI }

func (openAIFormat) claims(l look) bool {
	return l.kind == "" && (oneOf(l.role, "tool developer function") || l.toolCalls)
}

func (openAIFormat) fits(*call, *result) bool { return true }

func (openAIFormat) named(*call) bool { return true }

func (openAIFormat) onlyResults(h *history, m int) bool { return h.role[m] == tool }

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
	switch role {
	case "assistant":
		h.addTurn(m).signed = signed
		for n, c := range elements(calls) {
			h.addCall(m, openAICall(n, c))
		}
	case "tool":
		h.role[m] = tool
		h.addResult(m, result{id: text(id), name: text(name), content: content})
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
		c.judge()
	}
	return c
}

// judge looks at args that are the text of a JSON value.
func (c *call) judge() {
	if !strings.HasPrefix(c.args, `"`) && c.args != "" && c.args != "null" {
		return // some servers send the object itself
	}
	if c.args == "" || c.args == "null" || strings.TrimSpace(c.args[1:len(c.args)-1]) == "null" {
		c.args2 = `"{}"`
		return
	}
	if !isJSON(c.args) {
		c.args2, c.broken = `"{}"`, true
	}
}

// signedBlocks tells whether reasoning is bound to what stands before it.
func signedBlocks(blocks string) bool {
	for _, b := range elements(blocks) {
		for field, v := range members(b) {
			if oneOf(field, "signature data") && text(v) != "" || field == "type" && text(v) == "redacted_thinking" {
				return true
			}
		}
	}
	return false
}

// isJSON tells whether the text of a JSON string is one JSON value, without
// making that text.
func isJSON(quoted string) bool {
	var s jsonscan.Scanner
	for rest := quoted[1 : len(quoted)-1]; rest != ""; {
		plain, escape, any := strings.Cut(rest, `\`)
		s.Write(plain)
		if !any {
			break
		}
		s.Write(escaped(escape))
		if rest = escape[1:]; escape[0] == 'u' {
			rest = escape[5:]
		}
	}
	return s.Complete()
}

// escaped gives the character of an escape; all that are not ASCII are the
// same to a JSON text.
func escaped(s string) string {
	switch s[0] {
	case 'b':
		return "\b"
	case 'f':
		return "\f"
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case 'u':
		if r := text(`"\` + s[:5] + `"`); len(r) == 1 {
			return r
		}
		return "é"
	}
	return s[:1]
}

// patched writes the calls of a message as was decided.
func (openAIFormat) patched(h *history, m int, calls []call) string {
	return inside(h.at(m), "tool_calls", func(list string) string {
		return each(list, func(n int, element string) (string, bool) {
			return openAIPatched(&calls[n], element), calls[n].dropped == ""
		})
	})
}

func openAIPatched(c *call, element string) string {
	if c.id2 != "" {
		element = with(element, "id", quote(c.id2))
	}
	if c.name2 == "" && c.args2 == "" {
		return element
	}
	field := "function"
	if c.kind == "custom" {
		field = "custom"
	}
	f := member(element, field)
	if c.name2 != "" {
		f = with(f, "name", quote(c.name2))
	}
	if c.args2 != "" {
		f = with(f, "arguments", c.args2)
	}
	return with(element, field, f)
}

func (f openAIFormat) render(h *history) { h.renderFlat(f) }

func (openAIFormat) result(h *history, r *result) string {
	raw := h.at(r.message)
	if id := h.calls[r.call].newID(); id != r.id {
		raw = with(raw, "tool_call_id", quote(id))
	}
	return raw
}

func (openAIFormat) synthetic(_ *history, c *call) string {
	return `{"role":"tool","tool_call_id":` + c.newIDText() + `,"content":` + c.content + `}`
}

func (openAIFormat) userText(_ *history, _ int, content string) string {
	return `{"role":"user","content":` + content + `}`
}

func (openAIFormat) adopt(h *history, r *result) []string {
	id := r.id2
	return []string{
		`{"role":"assistant","content":null,"tool_calls":[{"id":` + quote(id) + `,"type":"function","function":{"name":` + quote(adoptedName(r)) + `,"arguments":"{}"}}]}`,
		with(h.at(r.message), "tool_call_id", quote(id)),
	}
}
