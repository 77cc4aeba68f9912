package patch

import "streamer/internal/events"

// eino is the middleware patchtoolcalls of eino 0.9, as of 0.9.13:
// adk/middlewares/patchtoolcalls in https://github.com/cloudwego/eino
//
// Only the results directly behind a turn answer its calls. For Anthropic's shape
// it follows eino's agentic messages: one user message for each new result.
func eino() profile {
	return profile{"eino", []Shape{OpenAI, Anthropic}, events.Langs[:], func(h *history) {
		type key struct {
			turn int
			id   string
		}
		behind, next := map[key]bool{}, make([]int, len(h.turns)) // next is the message behind the results of a turn
		for t := range h.turns {
			next[t] = h.turns[t].first + 1
		}
		for _, r := range h.results {
			if t := r.after; t >= 0 && r.message <= next[t] {
				behind[key{t, r.id}], next[t] = true, r.message+1
			}
		}
		h.answerEino(einoCanceled, func(c *call) bool { return behind[key{c.turn, c.id}] })
	}}
}

// eino08 is the same middleware of eino 0.8, as of 0.8.4, which has no agentic
// messages. A result answers every preceding call with its id.
func eino08() profile {
	return profile{"eino-0.8", []Shape{OpenAI}, events.Langs[:], func(h *history) {
		last := h.lastResults()
		h.answerEino(wasCancelled, func(c *call) bool { return last[c.id] > c.message })
	}}
}

func (h *history) answerEino(template string, answered func(*call) bool) {
	if h.opts.Lang == "zh" {
		template = einoCancelledZH
	}
	for i := range h.calls {
		if c := &h.calls[i]; !answered(c) {
			h.answerCall(c, events.TextNewMessage, h.einoFields(c, fillEmpty(template, c.name, c.id)))
		}
	}
}

func (h *history) einoFields(c *call, text string) string {
	if h.format.about().shape == Anthropic {
		return `"role":"user","content":[{"type":"tool_result","tool_use_id":` + c.finalIDText() + `,"content":` + quote(text) + `}]`
	}
	fields := `"role":"tool","content":` + quote(text)
	if c.id != "" {
		fields += `,"tool_call_id":` + c.finalIDText()
	}
	if c.name == "" {
		return fields
	}
	field := "name"
	if member(h.at(c.message), "response_meta") != "" { // a message in eino's own form, whose field is tool_name
		field = "tool_name"
	}
	return fields + `,"` + field + `":` + quote(c.name)
}
