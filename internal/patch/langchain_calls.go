package patch

import (
	"cmp"
	"strings"
)

// readTurn reads the calls of a message from all of its views. One call may be in
// several views.
func (langchainFormat) readTurn(h *history, m int, body langchainMessage) {
	t := h.addTurn(m)
	var calls, invalids, content, extra string
	scan(body.fields, to{"tool_calls", &calls}, to{"invalid_tool_calls", &invalids}, to{"content", &content}, to{"additional_kwargs", &extra})
	t.signed = signedBlocks(member(extra, "thinking_blocks")) || signedContent(content)
	for n, e := range elements(calls) {
		h.callBuffer = append(h.callBuffer, langchainCall(n, e))
	}
	h.addView(m, viewCalls)
	for _, e := range elements(invalids) {
		h.callBuffer = append(h.callBuffer, invalidCall(e, "args"))
	}
	h.addView(m, viewInvalid)
	for _, e := range elements(content) {
		if c, ok := langchainBlock(e); ok {
			h.callBuffer = append(h.callBuffer, c)
		}
	}
	h.addView(m, viewContent)
	for n, e := range elements(member(extra, "tool_calls")) {
		h.callBuffer = append(h.callBuffer, openAICall(n, e))
	}
	h.addView(m, viewRaw)
}

// addView adds the calls of a view of message m, which callBuffer has. Valid and invalid
// calls are different calls. The other two views repeat them: the nth call of an id there
// is the nth call of that id in the views before.
func (h *history) addView(m, view int) {
	var known map[string][]int
	first := h.turns[len(h.turns)-1].from
	if len(h.callBuffer) > 0 && view >= viewContent {
		known = map[string][]int{}
		for i := first; i < len(h.calls); i++ {
			id := h.calls[i].id
			known[id] = append(known[id], i)
		}
	}
	for _, c := range h.callBuffer {
		if same := known[c.id]; len(same) > 0 {
			h.calls[same[0]].view |= view
			h.calls[same[0]].parent = cmp.Or(h.calls[same[0]].parent, c.parent)
			known[c.id] = same[1:]
			continue
		}
		c.at, c.view = len(h.calls)-first, view
		h.addCall(m, c)
	}
	h.callBuffer = h.callBuffer[:0]
}

func langchainCall(n int, element string) call {
	if openAIStyle(element) {
		return openAICall(n, element)
	}
	c := callIn(element, "id", "name", "args")
	c.checkObjectArgs()
	if !c.broken && strings.HasPrefix(c.args, `"`) && c.changedArgs != "{}" {
		c.changedArgs = "" // LangChain's adapters accept an object as text
	}
	return c
}

func invalidCall(object, args string) call {
	c := callIn(object, "id", "name", args)
	c.kind, c.broken = invalid, true
	return c
}

// openAIStyle reports whether a call has OpenAI's form, which LangChain accepts if
// a message is a dictionary.
func openAIStyle(call string) bool { return strings.HasPrefix(member(call, "function"), "{") }

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
		c.parent = text(member(member(raw, "caller"), "tool_id"))
		c.checkObjectArgs()
	case "invalid_tool_call":
		return invalidCall(raw, args), true
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
