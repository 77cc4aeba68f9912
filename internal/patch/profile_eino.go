package patch

import "streamer/internal/events"

// The texts of eino's PatchToolCalls.
const (
	einoCanceled    = "Tool call {name} with id {id} was canceled - another message came in before it could be completed."
	einoCancelledZH = "工具调用 {name}（ID 为 {id}）已被取消——在其完成之前收到了另一条消息。"
)

// eino is the middleware patchtoolcalls of eino 0.9, as of 0.9.13:
// adk/middlewares/patchtoolcalls in https://github.com/cloudwego/eino
//
// Only the results directly behind a turn answer its calls. For Anthropic's shape
// it follows eino's agentic messages: one user message for each new result.
func eino() profile {
	return profile{
		name: "eino", shapes: []Shape{OpenAI, Anthropic}, langs: events.Langs[:],
		decide: decideEino, result: einoResult,
	}
}

// eino08 is the same middleware of eino 0.8, as of 0.8.4, which has no agentic
// messages. A result answers every preceding call with its id.
func eino08() profile {
	return profile{
		name: "eino-0.8", shapes: []Shape{OpenAI}, langs: events.Langs[:],
		decide: decideEino08, result: einoResult,
	}
}

func decideEino(h *history) {
	behind := make(map[string]int, len(h.results)) // by id: the last turn directly followed by a result of it
	for t, turn := range h.turns {
		next := turn.last + 1
		for r, to := h.gap(t); r < to && h.results[r].message <= next; r++ {
			behind[h.results[r].id] = t
			next = h.results[r].message + 1
		}
		for i := turn.from; i < turn.to; i++ {
			if c := &h.calls[i]; !has(behind, c.id, t) {
				h.closeCall(c, events.TextNewMessage, fillAll(einoSentence(h.opts.Lang, einoCanceled), c.name, c.id))
			}
		}
	}
}

func has(m map[string]int, key string, value int) bool {
	v, ok := m[key]
	return ok && v == value
}

func decideEino08(h *history) {
	last := h.lastResults()
	for i := range h.calls {
		c := &h.calls[i]
		if at, ok := last[c.id]; !ok || at < c.message {
			h.closeCall(c, events.TextNewMessage, fillAll(einoSentence(h.opts.Lang, wasCancelled), c.name, c.id))
		}
	}
}

func einoSentence(lang, english string) string {
	if lang == "zh" {
		return einoCancelledZH
	}
	return english
}

func einoResult(h *history, c *call) string {
	if h.format.shape() == Anthropic {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":` + c.finalIDText() + `,"content":` + c.content + `}]}`
	}
	message := `{"role":"tool","content":` + c.content
	if c.id != "" {
		message += `,"tool_call_id":` + c.finalIDText()
	}
	if c.name != "" {
		message += `,"` + einoNameField(h.at(c.message)) + `":` + quote(c.name)
	}
	return message + "}"
}

// einoNameField returns the field for the tool's name. Messages in eino's own form
// have a response_meta, and eino's own field is tool_name.
func einoNameField(turn string) string {
	if member(turn, "response_meta") != "" {
		return "tool_name"
	}
	return "name"
}
