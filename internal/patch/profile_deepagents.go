package patch

import "streamer/internal/events"

// couldNotBeExecuted is the text of deepagents about args that are not JSON.
const couldNotBeExecuted = "Tool call {name} with id {id} could not be executed - arguments were malformed or truncated."

// deepagents is PatchToolCallsMiddleware of deepagents for Python, as of August
// 2026: libs/deepagents/deepagents/middleware/patch_tool_calls.py in
// https://github.com/langchain-ai/deepagents
//
// A result answers every call with its id, wherever the two are. Invalid calls are
// answered too. Results stay unchanged at their places.
func deepagents() profile {
	return profile{
		name: "deepagents", shapes: []Shape{LangChain}, langs: []string{"en"},
		decide: decideDeepagents,
		result: func(h *history, c *call) string {
			return langchainAnswer(h, c, c.namedUnknown(), c.finalIDText())
		},
	}
}

func decideDeepagents(h *history) {
	answered := make(map[string]bool, len(h.results))
	for _, r := range h.results {
		answered[r.id] = true
	}
	for i := range h.calls {
		c := &h.calls[i]
		switch none := c.idText == "" || c.idText == "null"; {
		case none || answered[c.id]:
		case c.view&viewCalls != 0:
			h.closeCall(c, events.TextNewMessage, fillAll(wasCancelled, c.namedUnknown(), c.id))
		case c.view&viewInvalid != 0:
			h.closeCall(c, events.TextArgs, fillAll(couldNotBeExecuted, c.namedUnknown(), c.id))
		}
	}
}

func (c *call) namedUnknown() string {
	if c.name == "" {
		return "unknown"
	}
	return c.name
}
