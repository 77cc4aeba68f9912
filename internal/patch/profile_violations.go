package patch

import "strings"

// remainingViolations returns the rules of the provider that the output of a
// profile breaks: everything about calls and results that the recommended repair
// would still change.
func (h *history) remainingViolations() ([]Violation, error) {
	again := newHistory(h.output(), h.format, Options{
		Dangling: "leave", Orphans: "keep", Late: "replace", Args: "keep", Invalid: "answer", Limits: h.opts.Limits,
	}.orDefaults())
	if err := again.read(); err != nil {
		return nil, err
	}
	for r := range again.results {
		again.results[r].placeholder = false // of two results of a call, the second one is refused
	}
	again.match()
	again.decide()
	again.format.render(again)
	found := again.repairedViolations()
	for i := range found { // a new message stands for its turn
		m := found[i].Message
		for m > 0 && h.out[m].message < 0 {
			m--
		}
		found[i].Message = h.out[m].message
	}
	return found, nil
}

func (h *history) repairedViolations() []Violation {
	found := []Violation{}
	renamed := map[[2]int]string{}
	for i := range h.calls {
		c := &h.calls[i]
		if c.changedID != "" {
			renamed[[2]int{c.turn, c.at}] = c.id
		}
		if c.leftOpen {
			found = append(found, Violation{c.message, "unanswered_call", c.id})
		}
	}
	for i := range h.results {
		if r := &h.results[i]; r.disposition == kept {
			found = append(found, Violation{r.message, "orphan_result", r.id})
		}
	}
	for _, op := range h.ops {
		rule := ruleOf(op)
		if id, ok := renamed[[2]int{op.Turn, op.Call}]; ok {
			op.ID = id
		}
		if rule != "" {
			found = append(found, Violation{op.Message, rule, op.ID})
		}
	}
	return found
}

func ruleOf(op Op) string {
	switch op.Op {
	case "result_moved":
		return "misplaced_result"
	case "result_dropped":
		return "duplicate_result"
	case "call_dropped":
		return "duplicate_call_id"
	case "id_changed":
		if op.From == "" {
			return "empty_call_id"
		}
		return "duplicate_call_id"
	case "name_changed":
		return "empty_name"
	case "server_result_added":
		return "server_tool_unanswered"
	}
	return ""
}

func (h *history) output() document {
	var d document
	var b strings.Builder
	for _, p := range h.out {
		from := b.Len()
		b.WriteString(h.text(p))
		d.messages = append(d.messages, span{from, b.Len()})
		b.WriteByte('\n')
	}
	d.text = b.String()
	return d
}
