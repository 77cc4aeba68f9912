package patch

import "streamer/internal/events"

// sagents is the middleware PatchToolCalls of sagents for Elixir, as of August
// 2026: lib/sagents/middleware/patch_tool_calls.ex in
// https://github.com/sagents-ai/sagents
//
// A result answers every preceding call with its id. Messages are read and written
// in LangChain's shape. A call without an id, for which sagents raises an error,
// stays unchanged.
func sagents() profile {
	return profile{"sagents", []Shape{LangChain}, []string{"en"}, func(h *history) {
		last := h.lastResults()
		for i := range h.calls {
			if c := &h.calls[i]; c.id != "" && c.view&viewCalls != 0 && last[c.id] <= c.message {
				h.answerLangChain(c, events.TextNewMessage, fillEmpty(wasCancelled, c.name, c.id), c.name, c.finalIDText())
			}
		}
	}}
}
