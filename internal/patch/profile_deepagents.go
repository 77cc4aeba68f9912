package patch

import (
	"cmp"
	"strings"

	"streamer/internal/events"
)

// deepagents is PatchToolCallsMiddleware of deepagents for Python, as of August
// 2026: libs/deepagents/deepagents/middleware/patch_tool_calls.py in
// https://github.com/langchain-ai/deepagents
//
// A result answers every call with its id, wherever the two are. Invalid calls are
// answered too. Results stay unchanged at their places.
func deepagents() profile {
	return profile{"deepagents", []Shape{LangChain}, []string{"en"}, func(h *history) {
		answered := h.lastResults()
		for i := range h.calls {
			c := &h.calls[i]
			if _, ok := answered[c.id]; ok || isNull(c.idText) {
				continue
			}
			name := cmp.Or(c.name, "unknown")
			switch {
			case c.view&viewCalls != 0:
				h.answerLangChain(c, events.TextNewMessage, fillEmpty(wasCancelled, name, c.id), name, c.finalIDText())
			case c.view&viewInvalid != 0:
				h.answerLangChain(c, events.TextArgs, fillEmpty(couldNotBeExecuted, name, c.id), name, c.finalIDText())
			}
		}
	}}
}

// deepagentsJS is the middleware of deepagents for JavaScript, as of August 2026:
// libs/deepagents/src/middleware/patch_tool_calls.ts in
// https://github.com/langchain-ai/deepagentsjs
//
// A result answers every preceding call with its id. A result whose id no call has
// is removed, and so is a result with an empty id, although it answers a call with
// an empty id.
func deepagentsJS() profile {
	return profile{"deepagents-js", []Shape{LangChain}, []string{"en"}, func(h *history) {
		last := make(map[string]int, len(h.results))
		for _, r := range h.results {
			last[idJS(r.id != "", r.idText, r.id)] = r.message
		}
		called := make(map[string]bool, len(h.calls))
		for i := range h.calls {
			c := &h.calls[i]
			if c.view&viewCalls == 0 {
				continue
			}
			called[c.id] = true
			if at, ok := last[idJS(false, c.idText, c.id)]; !ok || at < c.message {
				shown := c.id // in a JavaScript template
				if !strings.HasPrefix(c.idText, `"`) {
					shown = cmp.Or(c.idText, "undefined")
				}
				h.answerLangChain(c, events.TextNewMessage, fillEmpty(wasCancelled, c.name, shown), c.name, c.idText)
			}
		}
		for i := range h.results {
			if r := &h.results[i]; r.id == "" || !called[r.id] {
				r.disposition = dropped
				h.dropResult(r, "orphan_dropped", "")
			}
		}
	}}
}

// idJS returns a map key for an id. JavaScript distinguishes the empty string, null and
// undefined.
func idJS(text bool, raw, id string) string {
	if text || strings.HasPrefix(raw, `"`) {
		return `"` + id
	}
	return raw
}
