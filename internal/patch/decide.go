package patch

// decide decides about every call and every result. A decision about a turn depends
// only on messages before the end of the next turn, unless a late result moves. If
// late results become notes, the repair of a prefix is therefore a prefix of the
// repair.
func (h *history) decide() {
	h.dropDuplicateCalls()
	for c := range h.calls {
		if h.calls[c].dropped == "" {
			h.chooseResult(&h.calls[c])
		}
	}
	h.inFlight = h.inFlight && !h.endsWithText()
	h.dropUnanswerable()
	h.findOutcomes()
	h.markLeftOpen()
	h.renameCalls()
	h.addResults()
	h.dropUnchosen()
	h.decideOrphans()
	for i := range h.calls {
		if c := &h.calls[i]; c.dropped == "" && !(c.leftOpen && (h.keptInFlight(c) || c.streams)) {
			h.repairCall(c)
		} else {
			c.changedArgs = ""
		}
	}
}

// endsWithText reports whether a result behind the last turn becomes a text. The
// turn is then not the end of the history, and its calls are not in flight.
func (h *history) endsWithText() bool {
	orphansStay := !oneOf(h.opts.Orphans, "text adopt")
	for r := len(h.results) - 1; r >= 0 && h.results[r].after == len(h.turns)-1; r-- {
		if res := &h.results[r]; res.disposition == asNote || res.call < 0 && !orphansStay {
			return true
		}
	}
	return false
}

func (h *history) dropDuplicateCalls() {
	type key struct {
		turn           int
		id, name, args string
	}
	seen := map[key]bool{}
	for c := range h.calls {
		call := &h.calls[c]
		if call.repetition {
			h.drop(call, "duplicate_call")
		}
		if call.id == "" || call.dropped != "" || h.idOf(call.id).calls < 2 {
			continue
		}
		k := key{call.turn, call.id, call.name, call.args}
		if seen[k] && !h.hasResult(call) {
			h.drop(call, "duplicate_call")
		}
		seen[k] = true
	}
}

func (h *history) dropUnanswerable() {
	if h.opts.Unanswerable != "drop" {
		return
	}
	for c := range h.calls {
		if call := &h.calls[c]; call.needsScreenshot && call.dropped == "" && call.answer < 0 && !h.keptInFlight(call) {
			h.drop(call, "unanswerable")
		}
	}
}

func (h *history) drop(c *call, why string) {
	c.dropped = why
	op := h.callOp("call_dropped", c)
	op.Why = why
	h.op(op)
}

// chooseResult chooses the result that answers a call: of its turn, the first real one or
// else a placeholder. A real result after a later turn, if it is not a copy of one before,
// replaces it or becomes a note: the last real result of a call is its outcome.
func (h *history) chooseResult(c *call) {
	real, placeholder := -1, -1
	late, lateReal := false, false
	for r := c.firstResult; r >= 0; r = h.results[r].next {
		res := &h.results[r]
		switch {
		case h.late(res):
			late, lateReal = true, lateReal || !res.placeholder
		case res.placeholder && placeholder < 0:
			placeholder = r
		case !res.placeholder && (real < 0 || h.opts.Duplicates == "last"):
			real = r
		}
	}
	c.answer = real
	if lateReal {
		h.chooseLate(c)
	}
	if c.answer < 0 {
		c.answer = placeholder
	}
	if c.answer < 0 && late && !lateReal {
		// All results are late placeholders. One of them moves, unless the
		// decision must not depend on messages after the next turn.
		if h.opts.Late != "note" && h.opts.Late != "drop" && !h.immovable(c, c.firstResult) {
			c.answer = c.firstResult
		}
	}
	if c.answer >= 0 {
		h.results[c.answer].disposition = answering
	}
}

func (h *history) chooseLate(c *call) {
	var last argsKey // of the outcome so far
	if c.answer >= 0 {
		last = keyOfValue(h.results[c.answer].content)
	}
	for r := c.firstResult; r >= 0; r = h.results[r].next {
		res := &h.results[r]
		if res.placeholder || !h.late(res) {
			continue
		}
		key := keyOfValue(res.content)
		if res.copy = key == last; res.copy || h.opts.Late == "drop" {
			continue
		}
		if last = key; h.opts.Late == "note" || h.immovable(c, r) {
			res.disposition = asNote
		} else {
			c.answer = r
		}
	}
}

func (h *history) immovable(c *call, r int) bool {
	return h.opts.Late == "auto" && h.signedBetween(c, h.results[r].after)
}

// markLeftOpen marks the calls that stay open as requested. A result from the
// options closes a call in any case.
func (h *history) markLeftOpen() {
	pending := map[string]bool{} // by the text by which options refer to a call: its last one is meant
	for _, id := range h.opts.Pending {
		pending[id] = true
	}
	for i := len(h.calls) - 1; i >= 0; i-- {
		c := &h.calls[i]
		if c.dropped != "" || c.hasOutput || c.answer >= 0 {
			continue
		}
		_, known := h.opts.Results[c.ref()]
		last := pending[c.ref()]
		delete(pending, c.ref())
		if !c.answeredInside {
			c.pending = !known && (last || h.keptInFlight(c) || h.keptWaiting(c))
			c.leftOpen = c.pending || !known && h.opts.Dangling == "leave" || h.keptUnanswerable(c)
		}
	}
}

func (h *history) addResults() {
	for i := range h.calls {
		c := &h.calls[i]
		has := c.answer >= 0 || c.placeholder
		if c.dropped != "" || c.answeredInside || c.hasOutput && !c.placeholder || c.leftOpen || has && !h.replaceable(c) {
			continue
		}
		h.fillContent(c)
		op := h.callOp("result_added", c)
		if op.Reason = c.reason; has {
			op.Op = "result_replaced"
		}
		if c.answer >= 0 {
			h.results[c.answer].disposition = dropped
			c.answer = -1
		}
		h.op(op)
	}
}

func (h *history) keptUnanswerable(c *call) bool {
	return c.needsScreenshot && h.opts.Unanswerable == "keep"
}

// keptInFlight reports whether a call of the last turn stays open as in flight.
func (h *history) keptInFlight(c *call) bool {
	return h.inFlight && c.turn == len(h.turns)-1
}

// keptWaiting reports whether a call stays open because it waits for a person, and
// the log has no result of it.
func (h *history) keptWaiting(c *call) bool {
	if !c.asked || !h.format.waits(h, c) || h.endsWithText() {
		return false
	}
	o, ok := h.logged(c)
	return !ok || !o.real()
}

func (h *history) dropUnchosen() {
	for r := range h.results {
		res := &h.results[r]
		if res.call < 0 {
			continue
		}
		switch res.disposition {
		case answering, dropped:
		case asNote:
			h.op(h.resultOp("late_note", res))
		default:
			res.disposition = dropped
			h.dropResult(res, "result_dropped", h.dropReason(&h.calls[res.call], res))
		}
	}
}

func (h *history) dropReason(c *call, res *result) string {
	switch {
	case res.placeholder:
		return "superseded"
	case res.copy:
		return "duplicate"
	case h.late(res) && h.opts.Late == "drop":
		return "late"
	case c.answer >= 0 && h.late(&h.results[c.answer]):
		return "superseded"
	}
	return "duplicate"
}

func (h *history) dropResult(res *result, name, why string) {
	op := h.resultOp(name, res)
	op.Why, op.Hash = why, hash(res.content)
	if h.opts.Dropped && res.content != "" {
		op.Dropped = []byte(res.content)
	}
	h.op(op)
}

func (h *history) decideOrphans() {
	for r := range h.results {
		res := &h.results[r]
		if res.call >= 0 {
			continue
		}
		switch {
		case h.opts.Orphans == "keep", h.opts.Orphans == "auto" && res.external:
			res.disposition = kept
		case h.opts.Orphans == "text":
			res.disposition = asText
			h.op(h.resultOp("orphan_to_text", res))
		case h.opts.Orphans == "adopt":
			res.disposition = adopted
			op := h.resultOp("orphan_adopted", res)
			op.To = res.changedID
			h.op(op)
		default:
			res.disposition = dropped
			h.dropResult(res, "orphan_dropped", "")
		}
	}
}

// repairCall reports the changes of the call itself, and reverts those that the
// options exclude.
func (h *history) repairCall(c *call) {
	if c.changedName != "" {
		op := h.callOp("name_changed", c)
		op.From, op.To = c.name, c.changedName
		h.op(op)
	}
	switch {
	case c.kind == invalid && h.opts.Invalid == "convert":
		c.changedArgs = "{}"
		h.op(h.callOp("invalid_converted", c))
	case c.changedArgs != "" && h.opts.Args == "keep":
		c.changedArgs = ""
	case c.changedArgs != "":
		h.op(h.callOp("args_changed", c))
	case h.opts.MaxArgs > 0 && c.turn < len(h.turns)-1 && h.signed[c.turn+1] == h.signed[c.turn]:
		if c.changedArgs = shortArgs(c.args, h.opts.MaxArgs); c.changedArgs != "" {
			h.op(h.callOp("args_changed", c))
		}
	}
}
