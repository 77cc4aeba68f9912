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
	return profile{
		name: "sagents", shapes: []Shape{LangChain}, langs: []string{"en"},
		decide: decideSagents,
		result: func(h *history, c *call) string {
			return langchainAnswer(h, c, c.name, c.finalIDText())
		},
	}
}

func decideSagents(h *history) {
	last := h.lastResults()
	for i := range h.calls {
		c := &h.calls[i]
		if c.id == "" || c.view&viewCalls == 0 {
			continue
		}
		if at, ok := last[c.id]; !ok || at < c.message {
			h.closeCall(c, events.TextNewMessage, fillAll(wasCancelled, c.name, c.id))
		}
	}
}
