package profile

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
func deepagents() Profile {
	return Profile{Name: "deepagents", Shapes: []string{"langchain"}, Langs: []string{"en"}, Repair: func(h *History) (ch Changes) {
		answered := h.later()
		for i := range h.Calls {
			c := &h.Calls[i]
			if _, ok := answered[c.ID]; ok || c.RawID == "" || c.RawID == "null" {
				continue
			}
			name := cmp.Or(c.Name, "unknown")
			switch {
			case c.Valid:
				ch.langchain(i, events.TextNewMessage, fill(wasCancelled, name, c.ID), name, c.stringID())
			case c.Invalid:
				ch.langchain(i, events.TextArgs, fill(couldNotBeExecuted, name, c.ID), name, c.stringID())
			}
		}
		return ch
	}}
}

// deepagentsJS is the middleware of deepagents for JavaScript, as of August 2026:
// libs/deepagents/src/middleware/patch_tool_calls.ts in
// https://github.com/langchain-ai/deepagentsjs
//
// A result answers every preceding call with its id. A result whose id no call has
// is removed, and so is a result with an empty id, although it answers a call with
// an empty id.
func deepagentsJS() Profile {
	return Profile{Name: "deepagents-js", Shapes: []string{"langchain"}, Langs: []string{"en"}, Repair: func(h *History) (ch Changes) {
		last := make(map[string]int, len(h.Results))
		for _, r := range h.Results {
			last[idJS(r.ID != "", r.RawID, r.ID)] = r.At
		}
		called := make(map[string]bool, len(h.Calls))
		for i := range h.Calls {
			c := &h.Calls[i]
			if !c.Valid {
				continue
			}
			called[c.ID] = true
			if at, ok := last[idJS(false, c.RawID, c.ID)]; !ok || at < c.At {
				ch.langchain(i, events.TextNewMessage, fill(wasCancelled, c.Name, c.textJS()), c.Name, c.RawID)
			}
		}
		for i, r := range h.Results {
			if r.ID == "" || !called[r.ID] {
				ch.Dropped = append(ch.Dropped, i)
			}
		}
		return ch
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

// textJS returns the text that a JavaScript template makes of the id.
func (c *Call) textJS() string {
	if strings.HasPrefix(c.RawID, `"`) {
		return c.ID
	}
	return cmp.Or(c.RawID, "undefined")
}
