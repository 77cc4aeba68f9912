package patch

import (
	"slices"
	"strconv"
)

// flat is a format in which a result is a message of its own.
type flat interface {
	loose
	// patched writes message m of a turn, some of whose calls have changed.
	patched(h *history, m int, calls []call) string
	// result writes a result that answers a call.
	result(h *history, r *result) string
	// synthetic writes the new result of a call.
	synthetic(h *history, c *call) string
}

// loose is a format in which what is no result any more is a message.
type loose interface {
	format
	// userText writes a user's message in the manner of message m.
	userText(h *history, m int, content string) string
	// adopt writes a turn with a call for an orphan, and the orphan.
	adopt(h *history, r *result) []string
}

// renderFlat puts out every turn with its results behind it.
func (h *history) renderFlat(f flat) {
	t, r := 0, 0
	for m := range h.messages {
		for r < len(h.results) && h.results[r].message < m {
			r++
		}
		switch {
		case t < len(h.turns) && h.turns[t].first == m:
			h.putTurn(f, t)
			t++
		case h.role[m] == tool && r < len(h.results) && h.results[r].message == m:
			h.putInPlace(f, &h.results[r])
		default:
			h.copy(m)
		}
	}
}

func (h *history) putTurn(f flat, t int) {
	turn := &h.turns[t]
	if h.changed(turn) {
		h.put(turn.first, f.patched(h, turn.first, h.calls[turn.from:turn.to]))
	} else {
		h.copy(turn.first)
	}
	for _, a := range h.answers(turn.from, turn.to, func(r *result) bool { return r.message > turn.first && r.message < turn.resultsEnd }) {
		if a.result < 0 {
			h.add(f.synthetic(h, &h.calls[a.call]))
			continue
		}
		r := &h.results[a.result]
		h.put(r.message, f.result(h, r))
	}
}

// answerOf is a result of a turn's group: one that was there, or a new one.
type answer struct{ call, result int }

// group gives the results of calls: those there are, in the order in which they
// stood, and behind them the new ones. It tells those that have moved. The next
// call of group overwrites what it gave.
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

// putLoose puts out a result that stays at its place, as what it has become.
func (h *history) putInPlace(f loose, r *result) {
	switch r.disposition {
	case kept:
		h.copy(r.message)
	case asNote, asText:
		h.put(r.message, f.userText(h, r.message, h.note(r)))
	case adopted:
		made := f.adopt(h, r)
		h.add(made[0])
		h.put(r.message, made[1])
	}
}
