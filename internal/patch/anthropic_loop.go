package patch

// A server tool that runs code may call the client's tools and go on with what
// they gave: its result then stands behind as many turns as it takes, with
// nothing but tool results between them.
// https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/programmatic-tool-calling

// loops says which turns go on with the one in front of them.
type loops struct {
	last     []int          // by turn: the last one that is reached through results only
	end      int            // the last turn, if it is one whose results the provider waits for; -1
	called   map[string]int // by the id of a server tool: the last turn in which it calls a tool
	answered map[string]int // by the id of a server tool: the last turn that has its result
}

func (h *history) serverLoops() *loops {
	n := len(h.turns)
	l := &loops{last: make([]int, n), end: -1, called: map[string]int{}, answered: map[string]int{}}
	for t := n - 1; t >= 0; t-- {
		only := h.onlyResultsBehind(t)
		switch {
		case t == n-1 && only:
			l.last[t], l.end = t, t
		case t < n-1 && only:
			l.last[t] = l.last[t+1]
		default:
			l.last[t] = t
		}
	}
	for t := range h.turns {
		for c := h.turns[t].from; c < h.turns[t].to; c++ {
			l.called[h.calls[c].parent] = t
		}
		for _, b := range elements(member(h.at(h.turns[t].first), "content")) {
			if serverResult(text(member(b, "type"))) {
				l.answered[text(member(b, "tool_use_id"))] = t
			}
		}
	}
	return l
}

// onlyResultsBehind tells whether nothing but results of calls will stand
// between a turn and the next one, or the end.
func (h *history) onlyResultsBehind(t int) bool {
	next := len(h.messages)
	if t+1 < len(h.turns) {
		next = h.turns[t+1].first
	}
	for m := h.turns[t].last + 1; m < next; m++ {
		if !h.format.onlyResults(h, m) {
			return false
		}
	}
	for r, to := h.gap(t); r < to; r++ {
		if f := h.results[r].disposition; f != answering && f != dropped {
			return false
		}
	}
	return true
}

// running takes out of the server tools of a turn, which have no result there,
// those that got one as they went on, and those that may still go on.
func (l *loops) removeRunning(t int, open map[string]bool) {
	for id := range open {
		answered, ok := l.answered[id]
		switch {
		case ok && answered > t && answered <= l.last[t]:
			delete(open, id)
		case l.end < 0 || l.last[t] != l.end:
		case t == l.end || l.called[id] == l.end:
			delete(open, id)
		}
	}
}
