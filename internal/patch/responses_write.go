package patch

import "strings"

func (f responsesFormat) render(h *history) {
	t, r := 0, 0
	for m := 0; m < len(h.messages); m++ {
		for r < len(h.results) && h.results[r].message < m {
			r++
		}
		switch {
		case t < len(h.turns) && h.turns[t].first == m:
			w := responsesWriter{h: h, f: f, t: t}
			w.turn()
			m = h.turns[t].last
			t++
		case h.role[m] == tool && h.results[r].message == m:
			h.putInPlace(f, &h.results[r])
		default:
			h.copy(m)
		}
	}
}

// responsesWriter puts out one turn.
type responsesWriter struct {
	h *history
	f responsesFormat
	t int

	searched      bool         // for reasoning that has lost its call
	loneReasoning map[int]bool // that is
}

// turn puts out the items of a turn with their results: behind the whole turn,
// if all of them stand there or the turn goes on, else behind each group of
// calls.
func (w *responsesWriter) turn() {
	h, turn := w.h, &w.h.turns[w.t]
	behind := func(r *result) bool { return r.message > turn.last && r.message < turn.resultsEnd }
	goesOn := h.inFlight && w.t == len(h.turns)-1
	if !h.provider.adjacent && (goesOn || w.allResultsFollow(behind)) {
		w.items(turn.first, turn.last+1)
		w.group(turn.from, turn.to, behind)
		return
	}
	from, c := turn.first, turn.from
	for c < turn.to {
		next := c + 1
		for next < turn.to && w.sameGroup(h.calls[next-1].message, h.calls[next].message) {
			next++
		}
		to := h.calls[next-1].message + 1
		w.items(from, to)
		last := to == turn.last+1
		w.group(c, next, func(r *result) bool { return behind(r) && (last || !h.provider.adjacent) })
		from, c = to, next
	}
	w.items(from, turn.last+1)
}

// allBehind tells whether every call has its result right behind the turn.
func (w *responsesWriter) allResultsFollow(behind func(*result) bool) bool {
	h, turn := w.h, &w.h.turns[w.t]
	for c := turn.from; c < turn.to; c++ {
		call := &h.calls[c]
		if call.dropped != "" || call.leftOpen {
			continue
		}
		if call.answer < 0 || !behind(&h.results[call.answer]) {
			return false
		}
	}
	return true
}

// oneGroup tells whether nothing but reasoning stands between two calls: a
// result there would part the reasoning from its call.
func (w *responsesWriter) sameGroup(from, to int) bool {
	for m := from + 1; m < to; m++ {
		if text(member(w.h.at(m), "type")) != "reasoning" {
			return false
		}
	}
	return true
}

// items puts out the items from one message to before another.
func (w *responsesWriter) items(from, to int) {
	h := w.h
	for m := from; m < to; m++ {
		calls := h.callsOf(&h.turns[w.t], m)
		switch {
		case len(calls) > 0 && calls[0].dropped != "":
		case len(calls) > 0 && calls[0].changed():
			h.put(m, responsesPatched(&calls[0], h.at(m)))
		case w.isLoneReasoning(m):
			h.op(Op{Op: "reasoning_dropped", Turn: w.t, Message: m, Call: -1, ID: text(member(h.at(m), "id")), Hash: hash(h.at(m))})
		default:
			h.copy(m)
		}
	}
}

// leftAlone tells whether an item is reasoning that has lost the call it led
// to: everything between it and the end of the turn is reasoning or was
// dropped, and something was.
func (w *responsesWriter) isLoneReasoning(m int) bool {
	if !w.searched {
		w.searched, w.loneReasoning = true, w.findLoneReasoning()
	}
	return w.loneReasoning[m]
}

func (w *responsesWriter) findLoneReasoning() map[int]bool {
	h, turn := w.h, &w.h.turns[w.t]
	var alone map[int]bool
	lost := false
	for m := turn.last; m >= turn.first; m-- {
		calls := h.callsOf(turn, m)
		switch {
		case len(calls) > 0 && calls[0].dropped != "":
			lost = true
		case text(member(h.at(m), "type")) != "reasoning":
			return alone
		case lost:
			if alone == nil {
				alone = map[int]bool{}
			}
			alone[m] = true
		}
	}
	return alone
}

func responsesPatched(c *call, item string) string {
	if c.changedID != "" {
		item = setMember(item, "call_id", quote(c.changedID))
	}
	if c.changedName != "" {
		item = setMember(item, "name", quote(c.changedName))
	}
	if c.changedArgs != "" {
		item = setMember(item, "arguments", c.changedArgs)
	}
	return item
}

// group puts out the results of some of the turn's calls.
func (w *responsesWriter) group(from, to int, inPlace func(*result) bool) {
	h := w.h
	for _, a := range h.answers(from, to, inPlace) {
		if a.result < 0 {
			h.add(responsesSynthetic(&h.calls[a.call]))
			continue
		}
		r := &h.results[a.result]
		h.put(r.message, w.f.result(h, r))
	}
}

// result writes a result with the id and the kind of its call.
func (responsesFormat) result(h *history, r *result) string {
	raw := h.at(r.message)
	c := &h.calls[r.call]
	if c.finalID() != r.id {
		field := "call_id"
		if member(raw, field) == "" && member(raw, "id") != "" {
			field = "id"
		}
		raw = setMember(raw, field, quote(c.finalID()))
	}
	if oneOf(r.kind, "function_call_output custom_tool_call_output") && oneOf(c.kind, "function_call custom_tool_call") && r.kind != answersTo(c.kind) {
		raw = setMember(raw, "type", quote(answersTo(c.kind)))
		op := h.resultOp("result_retyped", r)
		op.From, op.To = r.kind, answersTo(c.kind)
		h.op(op)
	}
	return raw
}

func (responsesFormat) userText(_ *history, _ int, content string) string {
	if strings.HasPrefix(content, "[") {
		content = editElements(content, func(_ int, b string) (string, bool) {
			if text(member(b, "type")) == "text" {
				return setMember(b, "type", `"input_text"`), true
			}
			return b, true
		})
	}
	return `{"type":"message","role":"user","content":` + content + `}`
}

func (responsesFormat) adopt(h *history, r *result) []string {
	id := quote(r.changedID)
	output := setMember(setMember(h.at(r.message), "call_id", id), "type", `"function_call_output"`)
	if content := contentOf(r.content); content != r.content {
		output = setMember(output, "output", content) // another kind's, which a function does not give
	}
	return []string{`{"type":"function_call","call_id":` + id + `,"name":"unknown","arguments":"{}"}`, output}
}
