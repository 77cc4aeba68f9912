package patch

import "slices"

// match finds the call of each result, in order: a result answers the oldest
// open call with its id of the last turn that used the id. A turn that uses an
// id again shadows the calls of older turns.
func (h *history) match() {
	r := 0
	for t := range h.turns {
		for ; r < len(h.results) && h.results[r].after < t; r++ {
			h.take(r)
		}
		for c := h.turns[t].from; c < h.turns[t].to; c++ {
			h.wait(c)
		}
	}
	for ; r < len(h.results); r++ {
		h.take(r)
	}
	h.nameless()
	if h.o.Late == "note" { // what a later turn calls has no say in a gap
		h.rebind()
		h.rescue()
		return
	}
	h.rescue()
	h.rebind()
}

func (h *history) slot(id string) *slot {
	i, ok := h.ids[id]
	if !ok {
		i = len(h.slots)
		h.ids[id] = i
		h.slots = append(h.slots, slot{turn: -1, head: -1, tail: -1, answered: -1, firstCall: -1, early: -1})
	}
	return &h.slots[i]
}

// wait puts a call into the queue of its id.
func (h *history) wait(c int) {
	call := &h.calls[c]
	if call.id == "" {
		return
	}
	s := h.slot(call.id)
	s.calls++
	if s.firstCall < 0 {
		s.firstCall = c
	}
	if h.calls[s.firstCall].turn == call.turn {
		s.atFirst++
	}
	if s.turn != call.turn {
		s.turn, s.head, s.tail, s.answered = call.turn, -1, -1, -1
	}
	if s.tail >= 0 {
		h.calls[s.tail].same = c
	} else {
		s.head = c
	}
	s.tail = c
}

// take gives a result to the first call in the queue of its id that it fits.
func (h *history) take(r int) {
	res := &h.results[r]
	if res.id == "" {
		return
	}
	s := h.slot(res.id)
	s.results++
	before := -1
	for c := s.head; c >= 0; before, c = c, h.calls[c].same {
		if !h.format.fits(&h.calls[c], res) {
			continue
		}
		after := h.calls[c].same
		if before < 0 {
			s.head = after
		} else {
			h.calls[before].same = after
		}
		if s.tail == c {
			s.tail = before
		}
		s.answered = c
		h.bind(r, c)
		return
	}
	switch {
	case s.answered >= 0 && h.format.fits(&h.calls[s.answered], res):
		h.bind(r, s.answered)
	case s.turn < 0:
		s.early = r
		s.strays++
	}
}

// bind makes a result one of a call's.
func (h *history) bind(r, c int) {
	call := &h.calls[c]
	h.results[r].call = c
	if h.o.Template != "" && !h.results[r].fake {
		h.results[r].fake = h.fromTemplate(call, h.results[r].content)
	}
	if call.last < 0 {
		call.first = r
	} else {
		h.results[call.last].next = r
	}
	call.last = r
}

// rescue gives a result in front of its call to it, if it is the only one and
// the call the first of that id, and the only one in its turn. Where late
// results are noted, those behind the next turn have no say.
func (h *history) rescue() {
	if !*h.o.RescueEarly {
		return
	}
	for i := range h.slots {
		s := &h.slots[i]
		if s.early < 0 || s.firstCall < 0 || s.atFirst != 1 {
			continue
		}
		c := &h.calls[s.firstCall]
		alone := s.results == 1
		if h.o.Late == "note" {
			alone = s.strays == 1
		}
		if alone && h.results[s.early].call < 0 && !h.hasResult(c) && h.format.fits(c, &h.results[s.early]) {
			h.bind(s.early, s.firstCall)
		}
	}
}

// hasResult tells whether a call has a result; where late results are noted,
// one that is not late.
func (h *history) hasResult(c *call) bool {
	if c.inside {
		return true
	}
	for r := c.first; r >= 0; r = h.results[r].next {
		if h.o.Late != "note" || h.results[r].after <= c.turn {
			return true
		}
	}
	return false
}

// gap gives the results between a turn and the next one.
func (h *history) gap(t int) (from, to int) {
	by := func(r result, t int) int { return r.after - t }
	from, _ = slices.BinarySearchFunc(h.results, t, by)
	to, _ = slices.BinarySearchFunc(h.results, t+1, by)
	return from, to
}

// nameless pairs the calls without an id and the results without one in the
// gap behind their turn: by name where a name has as many results as calls, and
// by place where the results have no names and there is one for every call.
func (h *history) nameless() {
	for t, turn := range h.turns {
		var calls []int
		for c := turn.from; c < turn.to; c++ {
			if h.calls[c].id == "" {
				calls = append(calls, c)
			}
		}
		if len(calls) > 0 {
			h.pair(calls, t)
		}
	}
}

func (h *history) pair(calls []int, t int) {
	wanting, results := map[string]int{}, map[string][]int{}
	for _, c := range calls {
		wanting[h.calls[c].name]++
	}
	for r, to := h.gap(t); r < to; r++ {
		if res := &h.results[r]; res.id == "" {
			results[res.name] = append(results[res.name], r)
		}
	}
	byPlace := len(results) == 1 && len(results[""]) == len(calls)
	for _, c := range calls {
		name := h.calls[c].name
		if byPlace {
			name = ""
		} else if name == "" || wanting[name] != len(results[name]) {
			continue
		}
		queue := results[name]
		if byPlace || len(queue) > 0 {
			if h.format.fits(&h.calls[c], &h.results[queue[0]]) {
				h.bind(queue[0], c)
			}
			results[name] = queue[1:]
			wanting[name]--
		}
	}
}

// rebind gives the one result without a call in the gap behind a turn to the
// turn's one call without a result.
func (h *history) rebind() {
	if h.o.Rebind != "single" {
		return
	}
	for t, turn := range h.turns {
		var open, stray []int
		for c := turn.from; c < turn.to; c++ {
			if !h.hasResult(&h.calls[c]) {
				open = append(open, c)
			}
		}
		for r, to := h.gap(t); r < to && len(open) == 1; r++ {
			if h.results[r].call < 0 {
				stray = append(stray, r)
			}
		}
		if len(open) != 1 || len(stray) != 1 || !h.format.fits(&h.calls[open[0]], &h.results[stray[0]]) {
			continue
		}
		h.bind(stray[0], open[0])
		op := h.resultOp("result_rebound", &h.results[stray[0]])
		op.From, op.To = h.results[stray[0]].id, h.calls[open[0]].id
		h.op(op)
	}
}
