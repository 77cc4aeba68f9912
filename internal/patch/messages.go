package patch

import (
	"slices"
	"strconv"
)

// messageFormat is a format in which a result is a message of its own.
type messageFormat interface {
	rules
	read(h *history, m int)
	// putTurn writes a turn and its results to the output: the message that rewrite
	// returns, and what putResults writes.
	putTurn(h *history, t int)
	// rewrite returns message m with the changes of its calls.
	rewrite(h *history, m int, calls []call) string
	// putResults writes the results of a turn.
	putResults(h *history, t int)
	// result returns the message of an existing result that answers a call.
	result(h *history, r *result) string
	// withID returns a result with another id of its call.
	withID(raw, id string) string
	// synthetic returns the message of a call's new result.
	synthetic(h *history, c *call) string
	// userText returns a user's message in the form of message m.
	userText(h *history, m int, content string) string
	// adopt returns a turn with a call that is made for an orphan, and the
	// orphan with the id of that call.
	adopt(h *history, r *result) (turn, result string)
	// note returns the content of a user's message that quotes a result.
	note(h *history, r *result) string
	// keep writes the message of an orphan that stays.
	keep(h *history, r *result)
	// isReasoning reports whether a message is only the reasoning of the model
	// that belongs to the next message.
	isReasoning(message string) bool
}

// messageShape is a format made of a messageFormat.
type messageShape struct{ messageFormat }

func (f messageShape) render(h *history) {
	t, r := 0, 0
	for m := 0; m < len(h.messages); m++ {
		for r < len(h.results) && h.results[r].message < m {
			r++
		}
		switch {
		case t < len(h.turns) && h.turns[t].first == m:
			f.putTurn(h, t)
			m = h.turns[t].last
			t++
		case h.role[m] == tool && r < len(h.results) && h.results[r].message == m:
			for ; r < len(h.results) && h.results[r].message == m; r++ {
				h.putInPlace(f.messageFormat, &h.results[r])
			}
		case h.role[m] == written, h.copies[m]:
		default:
			h.copy(m)
		}
	}
}

func (*facts) putTurn(h *history, t int) {
	f, turn := h.format.(messageFormat), &h.turns[t]
	if h.copies[turn.first] {
		return
	}
	raw := h.at(turn.first)
	if h.changed(turn) {
		raw = f.rewrite(h, turn.first, h.calls[turn.from:turn.to])
	}
	h.put(turn.first, h.addServerResults(turn.first, t, raw))
	f.putResults(h, t)
}

func (f *facts) rewrite(h *history, m int, calls []call) string {
	return editCalls(h.at(m), f.calls, calls, nil, openAIPatched)
}

func (*facts) putResults(h *history, t int) {
	turn := &h.turns[t]
	h.putAnswers(turn.from, turn.to, turn.directly)
}

func (*facts) result(h *history, r *result) string {
	raw := h.at(r.message)
	if id := h.calls[r.call].finalID(); id != r.id {
		raw = h.format.(messageFormat).withID(raw, id)
	}
	return raw
}

func (*facts) synthetic(h *history, c *call) string { return h.format.message(c) }

func (*facts) note(h *history, r *result) string { return h.note(r) }

func (*facts) keep(h *history, r *result) { h.copy(r.message) }

func (*facts) isReasoning(string) bool { return false }

// putAnswers writes the results of some calls of a turn. inPlace reports whether a
// result need not move. What stood between the turn and such a result, and is not sent
// to a model, stays there.
func (h *history) putAnswers(from, to int, inPlace func(*result) bool) {
	f, next := h.format.(messageFormat), 0
	for _, a := range h.answers(from, to, inPlace) {
		c := &h.calls[a.call]
		if a.result < 0 {
			h.add(f.synthetic(h, c))
			continue
		}
		r := &h.results[a.result]
		if turn := &h.turns[c.turn]; turn.directly(r) {
			for next = max(next, turn.last+1); next < r.message; next++ {
				if h.role[next] == aside {
					h.role[next] = written
					h.copy(next)
				}
			}
		}
		h.put(r.message, f.result(h, r))
	}
}

// answer is a result of a turn: an existing one, or a new one if result is -1.
type answer struct{ call, result int }

// answers returns the results of calls: the existing ones in their order, then the
// new ones. It reports those that move. The next call of answers overwrites the
// returned slice.
func (h *history) answers(from, to int, inPlace func(*result) bool) []answer {
	out := h.answerBuffer[:0]
	for c := from; c < to; c++ {
		if r := h.calls[c].answer; r >= 0 {
			out = append(out, answer{c, r})
		}
	}
	slices.SortFunc(out, func(a, b answer) int { return a.result - b.result })
	for _, a := range out {
		if r := &h.results[a.result]; !inPlace(r) {
			op := h.resultOp("result_moved", r)
			op.From, op.To = strconv.Itoa(r.message), strconv.Itoa(h.calls[a.call].message)
			h.op(op)
		}
	}
	for c := from; c < to; c++ {
		if h.calls[c].content != "" {
			out = append(out, answer{c, -1})
		}
	}
	if h.opts.Order == "call" {
		h.sortByCall(out)
	}
	h.answerBuffer = out
	return out
}

func (h *history) sortByCall(group []answer) {
	byCall := func(a, b answer) int { return a.call - b.call }
	var real []answer
	for _, a := range group {
		if a.result >= 0 {
			real = append(real, a)
		}
	}
	if !slices.IsSortedFunc(real, byCall) {
		t := h.calls[real[0].call].turn
		h.op(Op{Op: "reordered", Turn: t, Message: h.turns[t].first, Call: -1})
	}
	slices.SortStableFunc(group, byCall)
}

// putInPlace writes a result that stays at its place, in the form that was decided.
func (h *history) putInPlace(f messageFormat, r *result) {
	switch r.disposition {
	case kept:
		f.keep(h, r)
	case asNote, asText:
		h.putBeforeReasoning(f, piece{r.message, f.userText(h, r.message, f.note(h, r))})
	case adopted:
		turn, result := f.adopt(h, r)
		h.putBeforeReasoning(f, piece{-1, turn}, piece{r.message, result})
	}
}

// putBeforeReasoning writes pieces before the reasoning items that end the output.
// Such an item must be followed by the item of the model that it belongs to.
func (h *history) putBeforeReasoning(f messageFormat, pieces ...piece) {
	n := len(h.out)
	for n > 0 && f.isReasoning(h.text(h.out[n-1])) {
		n--
	}
	h.out = slices.Insert(h.out, n, pieces...)
}
