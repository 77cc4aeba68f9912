package patch

import (
	"fmt"
	"slices"

	"streamer/internal/patch/profile"
)

// Profiles returns the valid values of Options.Profile.
func Profiles() []string {
	var names []string
	for _, p := range profile.All() {
		names = append(names, p.Name)
	}
	return names
}

func profileOf(name string) (profile.Profile, bool) {
	for _, p := range profile.All() {
		if p.Name == name {
			return p, true
		}
	}
	return profile.Profile{}, false
}

// profileFormat returns the format in which a profile reads a history. A history
// without messages has any format.
func profileFormat(p profile.Profile, f format, d *document) (format, error) {
	switch {
	case slices.Contains(p.Shapes, string(f.about().shape)):
		return f, nil
	case len(d.messages) == 0:
		return formatOf(Shape(p.Shapes[0]), d)
	}
	return nil, fmt.Errorf("patch: profile %s repairs histories of %v, and this one is of %s", p.Name, p.Shapes, f.about().shape)
}

// applyProfile writes the output as the system does: the new results of a turn go behind
// it, before the existing ones.
func (h *history) applyProfile(p profile.Profile) {
	changes := p.Repair(h.profileInput())
	fields := map[int]string{} // by call
	for _, a := range changes.Answers {
		c := &h.calls[a.Call]
		c.reason, c.content = string(a.Reason), quote(a.Text)
		op := h.callOp("result_added", c)
		op.Reason = c.reason
		h.op(op)
		fields[a.Call] = a.Fields
	}
	for _, r := range changes.Dropped {
		h.results[r].disposition = dropped
		h.dropResult(&h.results[r], "orphan_dropped", "")
	}
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
			switch {
			case h.calls[c].content == "":
			case h.format.about().shape == LangChain:
				h.add(h.formAt(m).write("tool", "ToolMessage", fields[c]))
			default:
				h.add("{" + fields[c] + "}")
			}
		}
		t++
	}
}

func (h *history) profileInput() *profile.History {
	in := &profile.History{Shape: string(h.format.about().shape), Lang: h.opts.Lang}
	for _, t := range h.turns {
		in.Turns = append(in.Turns, t.first)
	}
	for i := range h.calls {
		c := &h.calls[i]
		in.Calls = append(in.Calls, profile.Call{
			Turn: c.turn, Message: h.at(c.message), At: c.message, ID: c.id, Name: c.name, RawID: c.idText,
			Valid: c.view&viewCalls != 0, Invalid: c.view&viewInvalid != 0,
		})
	}
	for _, r := range h.results {
		in.Results = append(in.Results, profile.Result{ID: r.id, RawID: r.idText, At: r.message, Turn: r.after})
	}
	return in
}
