package profile

import "streamer/internal/events"

// sagents is the middleware PatchToolCalls of sagents for Elixir, as of August
// 2026: lib/sagents/middleware/patch_tool_calls.ex in
// https://github.com/sagents-ai/sagents
//
// A result answers every preceding call with its id. Messages are read and written
// in LangChain's shape. A call without an id, for which sagents raises an error,
// stays unchanged.
func sagents() Profile {
	return Profile{Name: "sagents", Shapes: []string{"langchain"}, Langs: []string{"en"}, Repair: func(h *History) (ch Changes) {
		last := h.later()
		for i := range h.Calls {
			if c := &h.Calls[i]; c.ID != "" && c.Valid && last[c.ID] <= c.At {
				ch.langchain(i, events.TextNewMessage, fill(wasCancelled, c.Name, c.ID), c.Name, c.stringID())
			}
		}
		return ch
	}}
}
