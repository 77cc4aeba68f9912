package profile

import (
	"streamer/internal/events"

	"github.com/tidwall/gjson"
)

// eino is the middleware patchtoolcalls of eino 0.9, as of 0.9.13:
// adk/middlewares/patchtoolcalls in https://github.com/cloudwego/eino
//
// Only the results directly behind a turn answer its calls. For Anthropic's shape
// it follows eino's agentic messages: one user message for each new result.
func eino() Profile {
	return Profile{Name: "eino", Shapes: []string{"openai", "anthropic"}, Langs: events.Langs[:], Repair: func(h *History) Changes {
		type key struct {
			turn int
			id   string
		}
		behind, next := map[key]bool{}, make([]int, len(h.Turns)) // next is the message behind the results of a turn
		for t, at := range h.Turns {
			next[t] = at + 1
		}
		for _, r := range h.Results {
			if t := r.Turn; t >= 0 && r.At <= next[t] {
				behind[key{t, r.ID}], next[t] = true, r.At+1
			}
		}
		return h.einoAnswers(einoCanceled, func(c *Call) bool { return behind[key{c.Turn, c.ID}] })
	}}
}

// eino08 is the same middleware of eino 0.8, as of 0.8.4, which has no agentic
// messages. A result answers every preceding call with its id.
func eino08() Profile {
	return Profile{Name: "eino-0.8", Shapes: []string{"openai"}, Langs: events.Langs[:], Repair: func(h *History) Changes {
		last := h.later()
		return h.einoAnswers(wasCancelled, func(c *Call) bool { return last[c.ID] > c.At })
	}}
}

func (h *History) einoAnswers(english string, answered func(*Call) bool) (ch Changes) {
	template := english
	if h.Lang == "zh" {
		template = einoCancelledZH
	}
	for i := range h.Calls {
		if c := &h.Calls[i]; !answered(c) {
			text := fill(template, c.Name, c.ID)
			ch.Answers = append(ch.Answers, Answer{i, events.TextNewMessage, text, h.einoFields(c, text)})
		}
	}
	return ch
}

func (h *History) einoFields(c *Call, text string) string {
	if h.Shape == "anthropic" {
		return `"role":"user","content":[{"type":"tool_result","tool_use_id":` + c.stringID() + `,"content":` + quote(text) + `}]`
	}
	fields := `"role":"tool","content":` + quote(text)
	if c.ID != "" {
		fields += `,"tool_call_id":` + c.stringID()
	}
	if c.Name == "" {
		return fields
	}
	field := "name"
	if gjson.Get(c.Message, "response_meta").Exists() { // a message in eino's own form, whose field is tool_name
		field = "tool_name"
	}
	return fields + `,"` + field + `":` + quote(c.Name)
}
