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
	var extra string
	scan(body.fields, to{"tool_calls", &seen.calls}, to{"invalid_tool_calls", &seen.invalid}, to{"content", &seen.content}, to{"additional_kwargs", &extra})
	seen.raw = member(extra, "tool_calls")
	t.signed = signedBlocks(member(extra, "thinking_blocks")) || signedContent(seen.content)
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
		c := callIn(e, "id", "name", "args")
		c.checkObjectArgs()
		if !c.broken && strings.HasPrefix(c.args, `"`) && c.changedArgs != "{}" {
			c.changedArgs = "" // LangChain's adapters accept an object as text
		}
		m.add(viewCalls, c)
	}
	for _, e := range elements(v.invalid) {
		c := callIn(e, "id", "name", "args")
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

// langchainBlock reads a content block and reports whether it is a call.
func langchainBlock(raw string) (c call, ok bool) {
	args := argsField(raw)
	switch kind := text(member(raw, "type")); kind {
	case "tool_use", "tool_call":
		c = callIn(raw, "id", "name", args)
		c.checkObjectArgs()
	case "invalid_tool_call":
		c = callIn(raw, "id", "name", args)
		c.kind, c.broken = invalid, true
	case "function_call":
		c = callIn(raw, "call_id", "name", args)
		c.checkArgs()
	case "custom_tool_call":
		c = callIn(raw, "call_id", "name", "input")
	default:
		return call{}, false
	}
	return c, true
}
