package patch

import (
	"slices"
	"strings"
)

// readTurn reads the calls of a message from all places where they are shown:
// one call may be in several.
func (langchainFormat) readTurn(h *history, m int, body langchainMessage) {
	t := h.addTurn(m)
	var seen langchainViews
	for name, v := range members(body.fields) {
		switch name {
		case "tool_calls":
			seen.calls = v
		case "invalid_tool_calls":
			seen.invalid = v
		case "content":
			seen.content = v
		case "additional_kwargs":
			seen.raw = member(v, "tool_calls")
			t.signed = t.signed || signedBlocks(member(v, "thinking_blocks"))
		}
	}
	t.signed = t.signed || signedContent(seen.content)
	h.callBuffer = seen.read(h.callBuffer[:0])
	for _, c := range h.callBuffer {
		h.addCall(m, c)
	}
}

// signedContent tells whether content holds reasoning that is signed.
func signedContent(content string) bool {
	for _, b := range elements(content) {
		signed := false
		for name, v := range members(b) {
			switch name {
			case "type":
				signed = signed || text(v) == "redacted_thinking"
			case "signature":
				signed = signed || text(v) != ""
			case "reasoning_content", "extras":
				signed = signed || text(member(v, "signature")) != ""
			}
		}
		if signed && oneOf(text(member(b, "type")), "thinking redacted_thinking reasoning_content reasoning") {
			return true
		}
	}
	return false
}

// langchainViews are the places of a message that show its calls.
type langchainViews struct{ calls, invalid, content, raw string }

// read gives the calls of all views: the nth call of an id in one view is the
// nth of that id in another. They are appended to an empty list.
func (v langchainViews) read(calls []call) []call {
	m := merged{calls: calls}
	for n, e := range elements(v.calls) {
		if openAIStyle(e) {
			m.add(viewCalls, openAICall(n, e))
			continue
		}
		c := langchainCall(e, "args", true)
		if !c.broken && strings.HasPrefix(c.args, `"`) && c.changedArgs != "{}" {
			c.changedArgs = "" // LangChain's own adapters read the text of an object
		}
		m.add(viewCalls, c)
	}
	for _, e := range elements(v.invalid) {
		c := langchainCall(e, "args", false)
		c.kind, c.broken = invalid, true
		m.add(viewInvalid, c)
	}
	for _, e := range elements(v.content) {
		if c, ok := langchainBlock(e); ok {
			m.add(viewContent, c)
		}
	}
	for n, e := range elements(v.raw) {
		m.add(viewRaw, openAICall(n, e))
	}
	return m.calls
}

// openAIStyle tells whether a call is written as OpenAI has it, which LangChain
// reads as well where a message is a dictionary.
func openAIStyle(call string) bool { return strings.HasPrefix(member(call, "function"), "{") }

// merged are the calls of a message, each once.
type merged struct {
	calls []call
	byID  map[string][]int // where there are many
	seen  map[viewed]int
}

type viewed struct {
	view int
	id   string
}

// few calls are searched through; many are looked up.
const few = 16

func (m *merged) add(view int, c call) {
	// The valid calls and the invalid ones are not the same: only the other
	// views show what is in these.
	if view == viewContent || view == viewRaw {
		if i := m.find(view, c.id); i >= 0 {
			m.calls[i].view |= view
			return
		}
	}
	c.at, c.view = len(m.calls), view
	if m.calls = append(m.calls, c); m.byID != nil {
		m.byID[c.id] = append(m.byID[c.id], c.at)
	}
}

func (m *merged) find(view int, id string) int {
	if len(m.calls) <= few {
		return slices.IndexFunc(m.calls, func(c call) bool { return c.id == id && c.view&view == 0 })
	}
	if m.byID == nil {
		m.byID, m.seen = map[string][]int{}, map[viewed]int{}
		for i, c := range m.calls {
			m.byID[c.id] = append(m.byID[c.id], i)
			for _, bit := range []int{viewContent, viewRaw} {
				if c.view&bit != 0 {
					m.seen[viewed{bit, c.id}]++
				}
			}
		}
	}
	k := viewed{view, id}
	n := m.seen[k]
	m.seen[k]++
	if n < len(m.byID[id]) {
		return m.byID[id][n]
	}
	return -1
}

// The views of a call, as bits.
const (
	viewCalls = 1 << iota
	viewInvalid
	viewContent
	viewRaw
)

// langchainCall reads a call whose args are an object.
func langchainCall(raw, args string, object bool) call {
	var c call
	for name, v := range members(raw) {
		switch name {
		case "id":
			c.id, c.idText = text(v), v
		case "name":
			c.name = text(v)
		case args:
			c.args = v
		}
	}
	if object {
		c.checkObjectArgs()
	}
	return c
}

// langchainBlock reads a block of content that is a call.
func langchainBlock(raw string) (call, bool) {
	switch text(member(raw, "type")) {
	case "tool_use":
		return langchainCall(raw, "input", true), true
	case "tool_call":
		return langchainCall(raw, "args", true), true
	case "invalid_tool_call":
		c := langchainCall(raw, "args", false)
		c.kind, c.broken = invalid, true
		return c, true
	case "function_call":
		c := langchainCall(raw, "arguments", false)
		c.idText = member(raw, "call_id")
		c.id = text(c.idText)
		c.checkArgs()
		return c, true
	case "custom_tool_call":
		c := langchainCall(raw, "input", false)
		c.idText = member(raw, "call_id")
		c.id = text(c.idText)
		return c, true
	}
	return call{}, false
}

// judgeObject looks at args that have to be an object; one that is the text of
// an object becomes that.
func (c *call) checkObjectArgs() {
	if strings.HasPrefix(c.args, "{") {
		return
	}
	c.changedArgs = "{}"
	if !strings.HasPrefix(c.args, `"`) {
		return
	}
	inner := strings.TrimSpace(text(c.args))
	switch {
	case !isJSON(c.args):
		c.broken = inner != "" && inner != "null"
	case strings.HasPrefix(inner, "{"):
		c.changedArgs = inner
	}
}
