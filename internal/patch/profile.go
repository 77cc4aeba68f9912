package patch

import (
	"fmt"
	"slices"
	"strings"

	"streamer/internal/events"
)

// profile is another system's repair, with its rules and its texts. It may
// leave a history that a provider refuses; the report says so.
type profile struct {
	name   string
	shapes []Shape
	langs  []string // of its texts
	// decide gives the calls that the system answers a content, and drops the
	// results that it takes out.
	decide func(h *history)
	// result writes the new result of a call as a message, which stands behind
	// its turn and in front of the results that are there.
	result func(h *history, c *call) string
}

// profiles is the list of them; one is one file.
func profiles() []profile {
	return []profile{deepagents(), deepagentsJS(), eino(), eino08(), sagents()}
}

// Profiles are the words of Options.Profile.
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

// formatFor gives the format in which a profile reads a history. One without
// messages is of any.
func (p profile) formatFor(f historyFormat, d *document) (historyFormat, error) {
	switch {
	case slices.Contains(p.shapes, f.shape()):
		return f, nil
	case len(d.messages) == 0:
		return formatOf(p.shapes[0], d)
	}
	return nil, fmt.Errorf("patch: profile %s: it repairs histories of %v, and this one is of %s", p.name, p.shapes, f.shape())
}

// repair does what the system does.
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

// close answers a call.
func (h *history) closeCall(c *call, reason events.Text, content string) {
	c.reason, c.content = string(reason), quote(content)
	op := h.callOp("result_added", c)
	op.Reason = c.reason
	h.op(op)
}

// lastResults gives the index of the last message that answers an id.
func (h *history) lastResults() map[string]int {
	last := make(map[string]int, len(h.results))
	for _, r := range h.results {
		last[r.id] = r.message
	}
	return last
}

// wasCancelled is the sentence that most systems share.
const wasCancelled = "Tool call {name} with id {id} was cancelled - another message came in before it could be completed."

// filled puts a name and an id into a sentence, the empty ones too.
func fillAll(sentence, name, id string) string {
	return strings.NewReplacer("{name}", name, "{id}", id).Replace(sentence)
}

// langchainAnswer writes a tool message as systems do that know of no status,
// in the form of the message it answers. The id is a JSON value, "" for none.
func langchainAnswer(h *history, c *call, name, id string) string {
	fields := `"type":"tool","content":` + c.content + `,"name":` + quote(name)
	if id != "" {
		fields += `,"tool_call_id":` + id
	}
	return h.formAt(c.message).write("tool", "ToolMessage", fields)
}
