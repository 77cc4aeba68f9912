package patch

import (
	"cmp"
	"strings"

	"streamer/internal/events"
)

// deepagentsJS is the middleware of deepagents for JavaScript, as of August 2026:
// libs/deepagents/src/middleware/patch_tool_calls.ts in
// https://github.com/langchain-ai/deepagentsjs
//
// A result answers every preceding call with its id. A result whose id no call has
// is removed, and so is a result with an empty id, although it answers a call with
// an empty id.
func deepagentsJS() profile {
	return profile{
		name: "deepagents-js", shapes: []Shape{LangChain}, langs: []string{"en"},
		decide: decideDeepagentsJS,
		result: func(h *history, c *call) string {
			return langchainAnswer(h, c, c.name, c.idText)
		},
	}
}

func decideDeepagentsJS(h *history) {
	last := make(map[string]int, len(h.results))
	for i := range h.results {
		last[h.resultIDJS(&h.results[i])] = h.results[i].message
	}
	called := make(map[string]bool, len(h.calls))
	for i := range h.calls {
		c := &h.calls[i]
		if c.view&viewCalls == 0 {
			continue
		}
		called[c.id] = true
		if at, ok := last[idJS(c.idText)]; !ok || at < c.message {
			h.closeCall(c, events.TextNewMessage, fillAll(wasCancelled, c.name, textJS(c.idText)))
		}
	}
	for i := range h.results {
		if r := &h.results[i]; r.id == "" || !called[r.id] {
			r.disposition = dropped
			h.dropResult(r, "orphan_dropped", "")
		}
	}
}

// idJS returns a map key for an id in raw JSON. JavaScript distinguishes the empty
// string, null and undefined.
func idJS(value string) string {
	if strings.HasPrefix(value, `"`) {
		return `"` + text(value)
	}
	return value
}

func (h *history) resultIDJS(r *result) string {
	if r.id != "" {
		return `"` + r.id
	}
	return idJS(member(langchainBody(h.at(r.message)).fields, "tool_call_id"))
}

// textJS returns the text that a JavaScript template makes of a JSON value.
func textJS(value string) string {
	if value == "null" {
		return value
	}
	if strings.HasPrefix(value, `"`) {
		return text(value)
	}
	return cmp.Or(value, "undefined")
}
