package patch

import (
	"slices"
	"strings"
)

// readTurn reads the calls of a message from all of its views. One call may be in
// several views.
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

// langchainViews has the lists of a message that contain its calls.
type langchainViews struct{ calls, invalid, content, raw string }

// read appends the calls of all views to calls, which is empty. The nth call of an
// id in one view is the nth call of that id in the others.
func (v langchainViews) read(calls []call) []call {
	m := mergedCalls{calls: calls}
	for n, e := range elements(v.calls) {
		if openAIStyle(e) {
			m.add(viewCalls, openAICall(n, e))
			continue
		}
		c := langchainCall(e, "args", true)
		if !c.broken && strings.HasPrefix(c.args, `"`) && c.changedArgs != "{}" {
			c.changedArgs = "" // LangChain's adapters accept an object as text
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

// openAIStyle reports whether a call has OpenAI's form, which LangChain accepts if
// a message is a dictionary.
func openAIStyle(call string) bool { return strings.HasPrefix(member(call, "function"), "{") }

// mergedCalls has each call of a message once.
type mergedCalls struct {
	calls []call
	byID  map[string][]int // nil for few calls
	seen  map[viewID]int
}

// viewID is an id in a view.
type viewID struct {
	view int
	id   string
}

// linearCalls is the number of calls up to which find searches the list.
const linearCalls = 16

func (m *mergedCalls) add(view int, c call) {
	// Valid and invalid calls are different calls. Only the other two views
	// repeat them.
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

// find returns the index of the next call with the id that is not yet in the view,
// -1 if there is none.
func (m *mergedCalls) find(view int, id string) int {
	if len(m.calls) <= linearCalls {
		return slices.IndexFunc(m.calls, func(c call) bool { return c.id == id && c.view&view == 0 })
	}
	if m.byID == nil {
		m.byID, m.seen = map[string][]int{}, map[viewID]int{}
		for i, c := range m.calls {
			m.byID[c.id] = append(m.byID[c.id], i)
			for _, bit := range []int{viewContent, viewRaw} {
				if c.view&bit != 0 {
					m.seen[viewID{bit, c.id}]++
				}
			}
		}
	}
	k := viewID{view, id}
	n := m.seen[k]
	m.seen[k]++
	if n < len(m.byID[id]) {
		return m.byID[id][n]
	}
	return -1
}

// The views of a LangChain message, as bits.
const (
	viewCalls = 1 << iota
	viewInvalid
	viewContent
	viewRaw
)

// langchainCall reads a call. args is the name of the member with the args, and
// object reports whether they must be an object.
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
