package patch

// decide says of every call and every result what becomes of it. A decision
// about a turn looks at nothing behind the next one, unless a late result is
// to be moved: with late results noted, the repair of the beginning of a
// history is the beginning of its repair.
func (h *history) decide() {
	h.dropDuplicateCalls()
	for c := range h.calls {
		if h.calls[c].dropped == "" {
			h.chooseResult(&h.calls[c])
		}
	}
	h.inFlight = h.inFlight && !h.endsWithText()
	h.dropUnanswerable()
	h.markLeftOpen()
	h.renameCalls()
	h.addResults()
	h.dropUnchosen()
	h.decideOrphans()
	for i := range h.calls {
		if c := &h.calls[i]; c.dropped == "" && !(c.leftOpen && h.keptInFlight(c)) {
			h.repairCall(c)
		} else {
			c.changedArgs = ""
		}
	}
}

// speaksAtEnd tells whether a result behind the last turn becomes a text: then
// the turn is not the last word, and will not be when this is repaired again.
func (h *history) endsWithText() bool {
	stays := !oneOf(h.opts.Orphans, "text adopt")
	for r := len(h.results) - 1; r >= 0 && h.results[r].after == len(h.turns)-1; r-- {
		if res := &h.results[r]; res.disposition == asNote || res.call < 0 && !stays {
			return true
		}
	}
	return false
}

// dropTwins takes out calls that stand twice in a turn, the second without a
// result of its own.
func (h *history) dropDuplicateCalls() {
	type key struct {
		turn           int
		id, name, args string
	}
	seen := map[key]bool{}
	for c := range h.calls {
		call := &h.calls[c]
		if call.id == "" || h.idOf(call.id).calls < 2 {
			continue
		}
		k := key{call.turn, call.id, call.name, call.args}
		if seen[k] && !h.hasResult(call) {
			h.drop(call, "duplicate_call")
		}
		seen[k] = true
	}
}

// dropUnanswerable takes out calls without a result that no text can answer.
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

// choose picks the result that stays of those a call has.
func (h *history) chooseResult(c *call) {
	real, placeholder, late := -1, -1, -1
	for r := c.firstResult; r >= 0; r = h.results[r].next {
		res := &h.results[r]
		switch {
		case h.late(res) && !res.placeholder && late < 0:
			late = r
		case h.late(res):
		case res.placeholder && placeholder < 0:
			placeholder = r
		case !res.placeholder && (real < 0 || h.opts.Duplicates == "last"):
			real = r
		}
	}
	c.answer = real
	if real < 0 && late >= 0 {
		h.chooseLate(c, late)
	}
	if c.answer < 0 {
		c.answer = placeholder
	}
	if c.answer < 0 && c.firstResult >= 0 && late < 0 {
		// Nothing but placeholders that stand too late: one is moved, unless
		// nothing behind the next turn may matter.
		if h.opts.Late != "note" && h.opts.Late != "drop" && !h.immovable(c, c.firstResult) {
			c.answer = c.firstResult
		}
	}
	if c.answer >= 0 {
		h.results[c.answer].disposition = answering
	}
}

// chooseLate decides about a real result behind another turn.
func (h *history) chooseLate(c *call, late int) {
	switch {
	case h.opts.Late == "drop":
	case h.opts.Late == "note", h.immovable(c, late):
		h.results[late].disposition = asNote
	default:
		c.answer = late
	}
}

// bound tells whether a late result cannot be moved.
func (h *history) immovable(c *call, r int) bool {
	return h.opts.Late == "auto" && h.signedBetween(c, h.results[r].after)
}

// leaveOpen marks the calls that get no result, on request. One that is given
// goes in all the same.
func (h *history) markLeftOpen() {
	pending := h.pendingCalls()
	for i := range h.calls {
		c := &h.calls[i]
		if c.dropped != "" || c.answeredInside || c.answer >= 0 {
			continue
		}
		_, known := h.opts.Results[c.id]
		c.pending = !known && (pending[i] || h.keptInFlight(c))
		c.leftOpen = c.pending || !known && h.opts.Dangling == "leave" || h.keptUnanswerable(c)
	}
}

// answer gives every other call without a result a new one.
func (h *history) addResults() {
	rank := h.ranks()
	for i := range h.calls {
		c := &h.calls[i]
		if c.dropped != "" || c.answeredInside || c.leftOpen || c.answer >= 0 && !h.replaceable(c, rank[i]) {
			continue
		}
		h.fillContent(c, rank[i])
		op := h.callOp("result_added", c)
		if op.Reason = c.reason; c.answer >= 0 {
			op.Op = "result_replaced"
			h.results[c.answer].disposition = dropped
			c.answer = -1
		}
		h.op(op)
	}
}

func (h *history) keptUnanswerable(c *call) bool {
	return c.needsScreenshot && h.opts.Unanswerable == "keep"
}

// excused tells whether a call of the last turn is left as in flight.
func (h *history) keptInFlight(c *call) bool {
	return h.inFlight && c.turn == len(h.turns)-1
}

// pending marks the last open call of each id that is not to be closed.
func (h *history) pendingCalls() map[int]bool {
	marks := map[int]bool{}
	last := map[string]int{}
	for _, id := range h.opts.Pending {
		last[id] = -1
	}
	if len(last) == 0 {
		return marks
	}
	for c := range h.calls {
		call := &h.calls[c]
		if _, ok := last[call.id]; ok && call.answer < 0 && call.dropped == "" {
			last[call.id] = c
		}
	}
	for _, c := range last {
		marks[c] = true
	}
	return marks
}

// losers drops the results that another one of their call has beaten, and
// tells the late ones that become notes.
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

// why says what beat a result.
func (h *history) dropReason(c *call, res *result) string {
	switch {
	case res.placeholder:
		return "superseded"
	case h.late(res) && h.opts.Late == "drop" && (c.answer < 0 || h.results[c.answer].placeholder):
		return "late"
	}
	return "duplicate"
}

func (h *history) dropResult(res *result, what, why string) {
	op := h.resultOp(what, res)
	op.Why, op.Hash = why, hash(res.content)
	if h.opts.Dropped && res.content != "" {
		op.Dropped = []byte(res.content)
	}
	h.op(op)
}

// orphans decides about results without a call.
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

// mend says what else of a call has to change.
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
	}
}
