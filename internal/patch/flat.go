package patch

import "slices"

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
	groups := h.groups()
	for m := range h.messages {
		for r < len(h.results) && h.results[r].message < m {
			r++
		}
		switch {
		case t < len(h.turns) && h.turns[t].first == m:
			h.putTurn(f, t, groups[t])
			t++
		case h.role[m] == tool && r < len(h.results) && h.results[r].message == m:
			h.putLoose(f, &h.results[r])
		default:
			h.copy(m)
		}
	}
}

// groups gives the results that stay, by turn, in the order in which they
// stood.
func (h *history) groups() [][]int {
	groups := make([][]int, len(h.turns))
	// One list holds them all.
	all := make([]int, 0, len(h.results))
	count := make([]int, len(h.turns)+1)
	for r := range h.results {
		if h.results[r].fate == answers {
			count[h.calls[h.results[r].call].turn+1]++
		}
	}
	for t := range h.turns {
		count[t+1] += count[t]
		groups[t] = all[count[t]:count[t]:count[t+1]]
	}
	for r := range h.results {
		if h.results[r].fate == answers {
			t := h.calls[h.results[r].call].turn
			groups[t] = append(groups[t], r)
		}
	}
	return groups
}

func (h *history) putTurn(f flat, t int, group []int) {
	turn := &h.turns[t]
	calls := h.calls[turn.from:turn.to]
	if slices.ContainsFunc(calls, func(c call) bool { return c.changed() }) {
		h.put(turn.first, f.patched(h, turn.first, calls))
	} else {
		h.copy(turn.first)
	}
	for _, a := range h.group(turn.from, turn.to, group, func(r *result) bool { return r.message > turn.first && r.message < turn.behind }) {
		if a.result < 0 {
			h.add(f.synthetic(h, &h.calls[a.call]))
			continue
		}
		r := &h.results[a.result]
		h.put(r.message, f.result(h, r))
	}
}

// answerOf is a result of a turn's group: one that was there, or a new one.
type answerOf struct{ call, result int }

// group gives the results of calls, those there are and new ones, in the order
// in which they are to stand, and tells those that have moved.
func (h *history) group(from, to int, results []int, inPlace func(*result) bool) []answerOf {
	var out []answerOf
	for _, r := range results {
		out = append(out, answerOf{h.results[r].call, r})
		if !inPlace(&h.results[r]) {
			h.op(h.resultOp("result_moved", &h.results[r]))
		}
	}
	for c := from; c < to; c++ {
		if h.calls[c].content != "" {
			out = append(out, answerOf{c, -1})
		}
	}
	if h.o.Order == "call" {
		h.inCallOrder(out)
	}
	return out
}

func (h *history) inCallOrder(group []answerOf) {
	byCall := func(a, b answerOf) int { return a.call - b.call }
	var real []answerOf
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
func (h *history) putLoose(f loose, r *result) {
	switch r.fate {
	case kept:
		h.copy(r.message)
	case noted, texted:
		h.put(r.message, f.userText(h, r.message, h.note(r)))
	case adopted:
		made := f.adopt(h, r)
		h.add(made[0])
		h.put(r.message, made[1])
	}
}
