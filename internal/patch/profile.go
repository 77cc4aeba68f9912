package patch

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/events"
)

// profile is the repair of another system, with its rules and its texts. The output
// may break rules of a provider. The same history always has the same repair.
type profile struct {
	name   string
	shapes []Shape
	langs  []string // languages of its texts
	// repair answers calls (answerCall), and drops results, as the system does.
	repair func(h *history)
}

// profiles lists the systems; each is one file.
func profiles() []profile {
	return []profile{deepagents(), deepagentsJS(), eino(), eino08(), sagents()}
}

// The texts of the systems.
const (
	// wasCancelled is the text that most systems use.
	wasCancelled       = "Tool call {name} with id {id} was cancelled - another message came in before it could be completed."
	couldNotBeExecuted = "Tool call {name} with id {id} could not be executed - arguments were malformed or truncated." // deepagents
	einoCanceled       = "Tool call {name} with id {id} was canceled - another message came in before it could be completed."
	einoCancelledZH    = "工具调用 {name}（ID 为 {id}）已被取消——在其完成之前收到了另一条消息。"
)

func profileTexts() []string {
	return []string{wasCancelled, einoCanceled, einoCancelledZH, couldNotBeExecuted}
}

// fillEmpty replaces {name} and {id} in a text, even if the values are empty.
func fillEmpty(template, name, id string) string {
	return strings.NewReplacer("{name}", name, "{id}", id).Replace(template)
}

// Profiles returns the valid values of Options.Profile.
func Profiles() []string {
	var names []string
	for _, p := range profiles() {
		names = append(names, p.name)
	}
	return names
}

func profileOf(name string) (profile, bool) {
	for _, p := range profiles() {
		if p.name == name {
			return p, true
		}
	}
	return profile{}, false
}

// profileFormat returns the format in which a profile reads a history. A history
// without messages has any format.
func profileFormat(p profile, f format, d *document) (format, error) {
	switch {
	case slices.Contains(p.shapes, f.about().shape):
		return f, nil
	case len(d.messages) == 0:
		return formatOf(p.shapes[0], d)
	}
	return nil, fmt.Errorf("patch: profile %s repairs histories of %v, and this one is of %s", p.name, p.shapes, f.about().shape)
}

// lastResults returns for each id the index of the last message with a result.
func (h *history) lastResults() map[string]int {
	last := make(map[string]int, len(h.results))
	for _, r := range h.results {
		last[r.id] = r.message
	}
	return last
}

// answerCall adds a result to a call. fields are the members of its message as JSON.
func (h *history) answerCall(c *call, reason events.Text, fields string) {
	c.reason, c.content = string(reason), fields
	op := h.callOp("result_added", c)
	op.Reason = c.reason
	h.op(op)
}

// answerLangChain adds a tool message without a status. id is raw JSON, "" for none.
func (h *history) answerLangChain(c *call, reason events.Text, text, name, id string) {
	fields := `"type":"tool","content":` + quote(text) + `,"name":` + quote(name)
	if id != "" {
		fields += `,"tool_call_id":` + id
	}
	h.answerCall(c, reason, fields)
}

// applyProfile writes the output as the system does: the new results of a turn go behind
// it, before the existing ones.
func (h *history) applyProfile(p profile) {
	p.repair(h)
	t, r := 0, 0
	for m := range h.messages {
		for r < len(h.results) && h.results[r].message < m {
			r++
		}
		if h.role[m] == tool && h.results[r].disposition == dropped {
			continue
		}
		h.copy(m)
		if t == len(h.turns) || h.turns[t].first != m {
			continue
		}
		for _, c := range h.calls[h.turns[t].from:h.turns[t].to] {
			switch {
			case c.content == "":
			case h.format.about().shape == LangChain:
				h.add(h.formAt(m).write("tool", "ToolMessage", c.content))
			default:
				h.add("{" + c.content + "}")
			}
		}
		t++
	}
}
