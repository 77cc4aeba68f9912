package patch

import (
	"strings"

	"streamer/internal/events"
)

// decide says of every call and every result what becomes of it. A decision
// about a turn looks at nothing behind the next one, unless a late result is
// to be moved: with late results noted, the repair of the beginning of a
// history is the beginning of its repair.
func (h *history) decide() {
	h.dropTwins()
	for c := range h.calls {
		if h.calls[c].dropped == "" {
			h.choose(&h.calls[c])
		}
	}
	h.inFlight = h.inFlight && !h.speaksAtEnd()
	h.dropUnanswerable()
	h.leaveOpen()
	h.renameCalls()
	h.answer()
	h.losers()
	h.orphans()
	for i := range h.calls {
		if c := &h.calls[i]; c.dropped == "" && !(c.open && h.excused(c)) {
			h.mend(c)
		} else {
			c.args2 = ""
		}
	}
}

// speaksAtEnd tells whether a result behind the last turn becomes a text: then
// the turn is not the last word, and will not be when this is repaired again.
func (h *history) speaksAtEnd() bool {
	stays := !oneOf(h.o.Orphans, "text adopt")
	for r := len(h.results) - 1; r >= 0 && h.results[r].after == len(h.turns)-1; r-- {
		if res := &h.results[r]; res.fate == noted || res.call < 0 && !stays {
			return true
		}
	}
	return false
}

// dropTwins takes out calls that stand twice in a turn, the second without a
// result of its own.
func (h *history) dropTwins() {
	type key struct {
		turn           int
		id, name, args string
	}
	seen := map[key]bool{}
	for c := range h.calls {
		call := &h.calls[c]
		if call.id == "" || h.slot(call.id).calls < 2 {
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
	if h.o.Unanswerable != "drop" {
		return
	}
	for c := range h.calls {
		if call := &h.calls[c]; call.hosted && call.dropped == "" && call.answer < 0 && !h.excused(call) {
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
func (h *history) choose(c *call) {
	real, placeholder, late := -1, -1, -1
	for r := c.first; r >= 0; r = h.results[r].next {
		res := &h.results[r]
		switch {
		case h.late(res) && !res.fake && late < 0:
			late = r
		case h.late(res):
		case res.fake && placeholder < 0:
			placeholder = r
		case !res.fake && (real < 0 || h.o.Duplicates == "last"):
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
	if c.answer < 0 && c.first >= 0 && late < 0 {
		// Nothing but placeholders that stand too late: one is moved, unless
		// nothing behind the next turn may matter.
		if h.o.Late != "note" && h.o.Late != "drop" && !h.bound(c, c.first) {
			c.answer = c.first
		}
	}
	if c.answer >= 0 {
		h.results[c.answer].fate = answers
	}
}

// chooseLate decides about a real result behind another turn.
func (h *history) chooseLate(c *call, late int) {
	switch {
	case h.o.Late == "drop":
	case h.o.Late == "note", h.bound(c, late):
		h.results[late].fate = noted
	default:
		c.answer = late
	}
}

// bound tells whether a late result cannot be moved.
func (h *history) bound(c *call, r int) bool {
	return h.o.Late == "auto" && h.signedBetween(c, h.results[r].after)
}

// leaveOpen marks the calls that get no result, on request. One that is given
// goes in all the same.
func (h *history) leaveOpen() {
	pending := h.pending()
	for i := range h.calls {
		c := &h.calls[i]
		if c.dropped != "" || c.inside || c.answer >= 0 {
			continue
		}
		_, known := h.o.Results[c.id]
		c.held = !known && (pending[i] || h.excused(c))
		c.open = c.held || !known && h.o.Dangling == "leave" || h.hostedKept(c)
	}
}

// answer gives every other call without a result a new one.
func (h *history) answer() {
	rank := h.ranks()
	for i := range h.calls {
		c := &h.calls[i]
		if c.dropped != "" || c.inside || c.open || c.answer >= 0 && !h.outdated(c, rank[i]) {
			continue
		}
		h.fill(c, rank[i])
		op := h.callOp("result_added", c)
		if op.Reason = c.reason; c.answer >= 0 {
			op.Op = "result_replaced"
			h.results[c.answer].fate = dropped
			c.answer = -1
		}
		h.op(op)
	}
}

func (h *history) hostedKept(c *call) bool { return c.hosted && h.o.Unanswerable == "keep" }

// excused tells whether a call of the last turn is left as in flight.
func (h *history) excused(c *call) bool {
	return h.inFlight && c.turn == len(h.turns)-1
}

// pending marks the last open call of each id that is not to be closed.
func (h *history) pending() map[int]bool {
	marks := map[int]bool{}
	last := map[string]int{}
	for _, id := range h.o.Pending {
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

// ranks counts, for each call, the calls behind it that have its id: the log
// and the history may begin at different places, but end at the same.
func (h *history) ranks() []int {
	ranks := make([]int, len(h.calls))
	if len(h.o.Log) == 0 {
		return ranks
	}
	behind := map[string]int{}
	for c := len(h.calls) - 1; c >= 0; c-- {
		id := h.calls[c].id
		ranks[c] = behind[id]
		behind[id]++
	}
	return ranks
}

// logged gives what the session's log knows of a call.
func (h *history) logged(c *call, rank int) (Outcome, bool) {
	outcomes := h.o.Log[c.id]
	if rank >= len(outcomes) {
		return Outcome{}, false
	}
	o := outcomes[len(outcomes)-1-rank]
	return o, o.Name == "" || c.name == "" || o.Name == c.name
}

// outdated tells whether the log has a real result for a call that has only a
// placeholder in the history, and which may take its place.
func (h *history) outdated(c *call, rank int) bool {
	o, ok := h.logged(c, rank)
	if !ok || !o.real() || !h.results[c.answer].fake || h.o.Dangling == "leave" || h.hostedKept(c) {
		return false
	}
	switch h.o.Late {
	case "replace":
		return true
	case "auto":
		return !h.signedBetween(c, len(h.turns)-1)
	}
	return c.turn == len(h.turns)-1
}

// The reasons of results that are a tool's own.
const (
	given   = "given" // by the caller
	fromLog = "log"   // of the session
)

// fill makes the content of a new result: what the caller gave, what the log
// has, or a text that says why there is none.
func (h *history) fill(c *call, rank int) {
	logged, inLog := h.logged(c, rank)
	switch content, ok := h.o.Results[c.id]; {
	case ok:
		c.content, c.reason = asContent(string(content)), given
		return
	case inLog && logged.real():
		if logged.Content == nil {
			h.wanted = append(h.wanted, logged.At)
			logged.Content = []byte(`""`)
		}
		c.content, c.reason, c.isError = asContent(string(logged.Content)), fromLog, logged.IsError
		return
	}
	reason := events.TextInterrupted
	switch said, ok := h.o.Reasons[c.id]; {
	case ok:
		reason = events.Text(said)
	case inLog && logged.Reason != "":
		reason = logged.Reason
	case c.broken:
		reason = events.TextArgs
	}
	c.reason, c.isError = string(reason), true
	c.content = quote(h.said(reason, c.newName(), c.newID()))
}

// said is the text of a synthetic result.
func (h *history) said(reason events.Text, name, id string) string {
	template := h.o.Template
	if template == "" {
		template = events.Sentence(reason, h.o.Lang)
	}
	return events.Fill(template, name, id)
}

// asContent gives a JSON value as the content of a result: text and lists of
// blocks are that, anything else is the text it is written as.
func asContent(value string) string {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, `"`) {
		return value
	}
	blocks := strings.HasPrefix(value, "[") && blank(value, 1) < len(value)-1
	for _, b := range elements(value) {
		blocks = blocks && member(b, "type") != ""
	}
	if blocks {
		return value
	}
	return quote(value)
}

// losers drops the results that another one of their call has beaten, and
// tells the late ones that become notes.
func (h *history) losers() {
	for r := range h.results {
		res := &h.results[r]
		if res.call < 0 {
			continue
		}
		switch res.fate {
		case answers, dropped:
		case noted:
			h.op(h.resultOp("late_note", res))
		default:
			res.fate = dropped
			h.dropResult(res, "result_dropped", h.why(&h.calls[res.call], res))
		}
	}
}

// why says what beat a result.
func (h *history) why(c *call, res *result) string {
	switch {
	case res.fake:
		return "superseded"
	case h.late(res) && h.o.Late == "drop" && (c.answer < 0 || h.results[c.answer].fake):
		return "late"
	}
	return "duplicate"
}

func (h *history) dropResult(res *result, what, why string) {
	op := h.resultOp(what, res)
	op.Why, op.Hash = why, hash(res.content)
	if h.o.Dropped && res.content != "" {
		op.Dropped = []byte(res.content)
	}
	h.op(op)
}

// orphans decides about results without a call.
func (h *history) orphans() {
	for r := range h.results {
		res := &h.results[r]
		if res.call >= 0 {
			continue
		}
		switch {
		case h.o.Orphans == "keep", h.o.Orphans == "auto" && res.elsewhere:
			res.fate = kept
		case h.o.Orphans == "text":
			res.fate = texted
			h.op(h.resultOp("orphan_to_text", res))
		case h.o.Orphans == "adopt":
			res.fate = adopted
			op := h.resultOp("orphan_adopted", res)
			op.To = res.id2
			h.op(op)
		default:
			res.fate = dropped
			h.dropResult(res, "orphan_dropped", "")
		}
	}
}

// mend says what else of a call has to change.
func (h *history) mend(c *call) {
	if c.name2 != "" {
		op := h.callOp("name_changed", c)
		op.From, op.To = c.name, c.name2
		h.op(op)
	}
	switch {
	case c.kind == invalid && h.o.Invalid == "convert":
		c.args2 = "{}"
		h.op(h.callOp("invalid_converted", c))
	case c.args2 != "" && h.o.Args == "keep":
		c.args2 = ""
	case c.args2 != "":
		h.op(h.callOp("args_changed", c))
	}
}
