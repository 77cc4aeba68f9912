package patch

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/events"
)

// profile is another system's repair with its rules and texts. Its output may break
// rules of a provider. The report then lists them.
type profile struct {
	name   string
	shapes []Shape
	langs  []string // languages of its texts
	// decide sets the content of the calls that the system answers, and drops
	// the results that it removes.
	decide func(h *history)
	// result returns the new result of a call as a message. It goes behind the
	// turn, before the existing results.
	result func(h *history, c *call) string
}

func profiles() []profile {
	return []profile{deepagents(), deepagentsJS(), eino(), eino08(), sagents()}
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

// formatFor returns the format in which a profile reads a history. A history
// without messages has any format.
func (p profile) formatFor(f historyFormat, d *document) (historyFormat, error) {
	switch {
	case slices.Contains(p.shapes, f.shape()):
		return f, nil
	case len(d.messages) == 0:
		return formatOf(p.shapes[0], d)
	}
	return nil, fmt.Errorf("patch: profile %s repairs histories of %v, and this one is of %s", p.name, p.shapes, f.shape())
}

func (p profile) repair(h *history) {
	p.decide(h)
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
		for c := h.turns[t].from; c < h.turns[t].to; c++ {
			if h.calls[c].content != "" {
				h.add(p.result(h, &h.calls[c]))
			}
		}
		t++
	}
}

func (h *history) closeCall(c *call, reason events.Text, content string) {
	c.reason, c.content = string(reason), quote(content)
	op := h.callOp("result_added", c)
	op.Reason = c.reason
	h.op(op)
}

func (h *history) lastResults() map[string]int {
	last := make(map[string]int, len(h.results))
	for _, r := range h.results {
		last[r.id] = r.message
	}
	return last
}

// wasCancelled is the text that most systems use.
const wasCancelled = "Tool call {name} with id {id} was cancelled - another message came in before it could be completed."

// fillAll replaces {name} and {id} in a text, even if the values are empty.
func fillAll(template, name, id string) string {
	return strings.NewReplacer("{name}", name, "{id}", id).Replace(template)
}

// langchainAnswer returns a tool message without a status, in the form of the
// message that it answers. id is raw JSON, "" for none.
func langchainAnswer(h *history, c *call, name, id string) string {
	fields := `"type":"tool","content":` + c.content + `,"name":` + quote(name)
	if id != "" {
		fields += `,"tool_call_id":` + id
	}
	return h.formAt(c.message).write("tool", "ToolMessage", fields)
}
