package patch

import "strings"

// piece is a message of the output: one of the input, changed or not, or a new one.
type piece struct {
	message int    // index in the input, -1 for a new message
	text    string // "" for an unchanged message
}

func (h *history) copy(m int) { h.out = append(h.out, piece{message: m}) }

func (h *history) add(text string) { h.out = append(h.out, piece{-1, text}) }

func (h *history) put(m int, now string) {
	if now == h.at(m) {
		now = ""
	}
	h.out = append(h.out, piece{m, now})
}

func (h *history) text(p piece) string {
	if p.text == "" {
		return h.at(p.message)
	}
	return p.text
}

func (h *history) firstChange() int {
	for i, p := range h.out {
		if p.message != i || p.text != "" {
			return i
		}
	}
	if len(h.out) < len(h.messages) {
		return len(h.out)
	}
	return -1
}

func (h *history) full() []byte {
	size := len(h.document.text)
	for _, p := range h.out {
		size += len(p.text) + 2
	}
	b := make([]byte, 0, size)
	head, tail := h.from, h.to
	if n := len(h.messages); n > 0 {
		head, tail = h.messages[0].from, h.messages[n-1].to
	}
	b = append(b, h.document.text[:head]...)
	between := h.separator()
	for i, p := range h.out {
		if i > 0 {
			if q := h.out[i-1]; q.message >= 0 && p.message == q.message+1 {
				b = append(b, h.document.text[h.messages[q.message].to:h.messages[p.message].from]...)
			} else {
				b = append(b, between...)
			}
		}
		b = append(b, h.text(p)...)
	}
	return append(b, h.document.text[tail:]...)
}

func (h *history) script() []Edit {
	steps := []Edit{}
	for i := 0; i < len(h.out); i++ {
		p := h.out[i]
		switch {
		case p.message < 0:
			steps = append(steps, Edit{Insert: []byte(p.text)})
		case p.text != "":
			steps = append(steps, Edit{Replace: &Replacement{p.message, []byte(p.text)}})
		default:
			from := p.message
			for i+1 < len(h.out) && h.out[i+1].text == "" && h.out[i+1].message == h.out[i].message+1 {
				i++
			}
			steps = append(steps, Edit{Copy: &[2]int{from, h.out[i].message + 1}})
		}
	}
	return steps
}

func (h *history) finish(input []byte) Repaired {
	first := h.firstChange()
	for i := range h.ops { // the caller may reuse the bytes of the history
		op := &h.ops[i]
		op.ID, op.Name = strings.Clone(op.ID), strings.Clone(op.Name)
		op.From, op.To = strings.Clone(op.From), strings.Clone(op.To)
	}
	r := Report{
		Format: h.shape, Profile: h.opts.Profile, Patched: first >= 0, In: len(h.messages), Out: len(h.out),
		Ops: h.ops, FirstChange: first, ViolationsLeft: h.violations(),
	}
	r.Sendable = len(r.ViolationsLeft) == 0
	if r.Ops == nil {
		r.Ops = []Op{}
	}
	for c := range h.calls {
		if call := &h.calls[c]; call.id != "" && call.finalID() != call.id {
			if r.IDs == nil {
				r.IDs = map[string]string{}
			}
			r.IDs[strings.Clone(call.id)] = strings.Clone(call.changedID)
		}
	}
	r.SignedAfterChange = h.signedBehind(first)
	switch {
	case h.opts.Output == "ops":
		return Repaired{Script: h.script(), Report: r, Wanted: h.wanted}
	case h.opts.Output == "check":
		return Repaired{Report: r, Wanted: h.wanted}
	case first < 0:
		return Repaired{History: input, Report: r}
	}
	return Repaired{History: h.full(), Report: r, Wanted: h.wanted}
}

func (h *history) signedBehind(first int) int {
	if first < 0 {
		return 0
	}
	signed := map[int]bool{}
	for _, t := range h.turns {
		if t.signed {
			signed[t.first] = true
		}
	}
	n := 0
	for _, p := range h.out[first:] {
		if p.message >= 0 && signed[p.message] {
			n++
		}
	}
	return n
}

func (h *history) violations() []Violation {
	left := append([]Violation{}, h.refused...)
	for c := range h.calls {
		if call := &h.calls[c]; call.leftOpen {
			left = append(left, Violation{call.message, "unanswered_call", strings.Clone(call.finalID())})
		}
	}
	for r := range h.results {
		if res := &h.results[r]; res.disposition == kept && !res.external {
			left = append(left, Violation{res.message, "orphan_result", strings.Clone(res.id)})
		}
	}
	return left
}
