package patch

// match assigns each result to a call, in order. A result answers the oldest open
// call with its id in the last turn that used the id: a turn that uses an id again
// hides the calls of older turns.
func (h *history) match() {
	r := 0
	for t := range h.turns {
		r = h.assignBefore(r, t)
		for c := h.turns[t].from; c < h.turns[t].to; c++ {
			h.enqueue(c)
		}
	}
	h.assignBefore(r, len(h.turns))
	h.matchWithoutIDs()
	if h.opts.Late == "note" { // the matching between two turns must not depend on later turns
		h.rebindSingle()
		h.matchEarly()
		h.pairByName()
		return
	}
	h.matchEarly()
	h.pairByName()
	h.rebindSingle()
}

func (h *history) idOf(id string) *idState {
	i, ok := h.idIndex[id]
	if !ok {
		i = len(h.ids)
		h.idIndex[id] = i
		h.ids = append(h.ids, idState{turn: -1, head: -1, tail: -1, answered: -1, firstCall: -1, lastEarly: -1})
	}
	return &h.ids[i]
}

func (h *history) enqueue(c int) {
	call := &h.calls[c]
	if h.byName != nil {
		h.enqueueName(c)
	}
	key := call.matchKey()
	if key == "" {
		return
	}
	s := h.idOf(key)
	s.calls++
	if s.firstCall < 0 {
		s.firstCall = c
	}
	first := &h.calls[s.firstCall]
	if first.turn == call.turn {
		s.inFirstTurn++
	}
	s.differ = s.differ || !first.broken && !call.broken && !sameCall(first, call)
	if s.turn != call.turn {
		s.turn, s.head, s.tail, s.answered = call.turn, -1, -1, -1
	}
	if s.tail >= 0 {
		h.calls[s.tail].nextOpen = c
	} else {
		s.head = c
	}
	s.tail = c
}

// sameCall reports whether two calls have the same name and args.
func sameCall(a, b *call) bool {
	return a.name == b.name && (a.args == b.args || keyOfValue(a.args) == keyOfValue(b.args))
}

// assignBefore binds the results from r on that precede turn t, and returns the
// first one behind it. An id goes before a name.
func (h *history) assignBefore(r, t int) int {
	end := r
	for end < len(h.results) && h.results[end].after < t {
		end++
	}
	for i := r; i < end; i++ {
		if h.byName == nil || h.hasCall(h.results[i].id) {
			h.assign(i)
		}
	}
	for i := r; i < end && h.byName != nil; i++ {
		if h.results[i].call < 0 {
			h.assign(i)
		}
	}
	return end
}

func (h *history) assign(r int) {
	res := &h.results[r]
	key := h.resultKey(res)
	if key == "" {
		return
	}
	s := h.idOf(key)
	s.results++
	for _, anyKind := range []bool{false, true} { // the id decides if no call is of the kind of the result
		before := -1
		for c := s.head; c >= 0; before, c = c, h.calls[c].nextOpen {
			if !anyKind && !h.format.canAnswer(&h.calls[c], res) {
				continue
			}
			after := h.calls[c].nextOpen
			if before < 0 {
				s.head = after
			} else {
				h.calls[before].nextOpen = after
			}
			if s.tail == c {
				s.tail = before
			}
			s.answered = c
			h.bind(r, c)
			return
		}
	}
	switch {
	case s.answered >= 0:
		h.bind(r, s.answered)
	case s.turn < 0:
		s.lastEarly = r
		s.earlyResults++
	}
}

func (h *history) bind(r, c int) {
	call := &h.calls[c]
	h.results[r].call = c
	if !h.results[r].placeholder {
		h.results[r].placeholder = h.matchesTemplate(call, h.results[r].content)
	}
	if call.lastResult < 0 {
		call.firstResult = r
	} else {
		h.results[call.lastResult].next = r
	}
	call.lastResult = r
}

// matchEarly binds a result that precedes its call, if it is the only result of its
// id and the call is the first of that id and the only one in its turn. Later calls of that
// id must have the same name and args, as far as these are known. If late results become
// notes, results after the next turn are not counted.
func (h *history) matchEarly() {
	if !*h.opts.RescueEarly {
		return
	}
	for i := range h.ids {
		s := &h.ids[i]
		if s.lastEarly < 0 || s.firstCall < 0 || s.inFirstTurn != 1 {
			continue
		}
		c := &h.calls[s.firstCall]
		only := s.results == 1 && !s.differ
		if h.opts.Late == "note" {
			only = s.earlyResults == 1
		}
		if only && h.onlyUse(c) && h.results[s.lastEarly].call < 0 && !h.hasResult(c) && h.format.canAnswer(c, &h.results[s.lastEarly]) {
			h.bind(s.lastEarly, s.firstCall)
		}
	}
}

// onlyUse reports whether the log has no other call that a result can mean which has only
// the id of this one, or only its name.
func (h *history) onlyUse(c *call) bool {
	if h.logUses == nil && len(h.opts.Log) > 0 {
		h.logUses = make(map[string][]int, len(h.opts.Log))
		for i, o := range h.opts.Log {
			if o.UID != "" {
				h.logUses[o.ID] = append(h.logUses[o.ID], i)
				h.logUses[nameKey(o.Name)] = append(h.logUses[nameKey(o.Name)], i)
			}
		}
	}
	uses := h.logUses[c.matchKey()]
	return len(uses) == 0 || len(uses) == 1 && h.opts.Log[uses[0]].mayHave(keyOfValue(c.args))
}

// hasResult reports whether a call has a result. If late results become notes, they
// are not counted.
func (h *history) hasResult(c *call) bool {
	if c.answeredInside || c.hasOutput {
		return true
	}
	for r := c.firstResult; r >= 0; r = h.results[r].next {
		if h.opts.Late != "note" || h.results[r].after <= c.turn {
			return true
		}
	}
	return false
}

func (h *history) gap(t int) (from, to int) {
	return equalRange(h.results, t, func(r *result) int { return r.after })
}

// matchWithoutIDs binds calls and results without an id that are between the same
// two turns: by name if a name has as many results as calls, and by position if no
// result has a name and each call has one.
func (h *history) matchWithoutIDs() {
	for t, turn := range h.turns {
		var calls []int
		for c := turn.from; c < turn.to; c++ {
			if h.calls[c].matchKey() == "" {
				calls = append(calls, c)
			}
		}
		if len(calls) > 0 {
			h.pairWithoutIDs(calls, t)
		}
	}
}

// pairByName binds a result without an id to the only call of its name between the same two
// turns that has no result, if no other result without an id has that name.
func (h *history) pairByName() {
	type gapName struct {
		turn int
		name string
	}
	results := map[gapName][]int{}
	for r := range h.results {
		if res := &h.results[r]; res.id == "" && res.call < 0 && res.name != "" && h.byName == nil {
			key := gapName{res.after, res.name}
			results[key] = append(results[key], r)
		}
	}
	if len(results) == 0 {
		return
	}
	open := map[gapName][]int{}
	for c := range h.calls {
		if call := &h.calls[c]; !h.hasResult(call) {
			key := gapName{call.turn, call.name}
			open[key] = append(open[key], c)
		}
	}
	for r := range h.results {
		res := &h.results[r]
		key := gapName{res.after, res.name}
		if of, calls := results[key], open[key]; len(of) == 1 && of[0] == r && len(calls) == 1 {
			h.bind(r, calls[0])
			op := h.resultOp("result_rebound", res)
			op.To = op.ID
			h.op(op)
		}
	}
}

func (h *history) pairWithoutIDs(calls []int, t int) {
	open, results := map[string]int{}, map[string][]int{}
	for _, c := range calls {
		open[h.calls[c].name]++
	}
	for r, to := h.gap(t); r < to; r++ {
		if res := &h.results[r]; res.id == "" {
			results[res.name] = append(results[res.name], r)
		}
	}
	byPosition := len(results) == 1 && len(results[""]) == len(calls)
	for _, c := range calls {
		name := h.calls[c].name
		if byPosition {
			name = ""
		} else if name == "" || open[name] != len(results[name]) {
			continue
		}
		queue := results[name]
		if byPosition || len(queue) > 0 {
			if h.format.canAnswer(&h.calls[c], &h.results[queue[0]]) {
				h.bind(queue[0], c)
			}
			results[name] = queue[1:]
			open[name]--
		}
	}
}

func (h *history) rebindSingle() {
	if h.opts.Rebind != "single" {
		return
	}
	for t, turn := range h.turns {
		var open, orphans []int
		for c := turn.from; c < turn.to; c++ {
			if !h.hasResult(&h.calls[c]) {
				open = append(open, c)
			}
		}
		for r, to := h.gap(t); r < to && len(open) == 1; r++ {
			if h.results[r].call < 0 {
				orphans = append(orphans, r)
			}
		}
		if len(open) != 1 || len(orphans) != 1 || !h.format.canAnswer(&h.calls[open[0]], &h.results[orphans[0]]) {
			continue
		}
		h.bind(orphans[0], open[0])
		op := h.resultOp("result_rebound", &h.results[orphans[0]])
		op.From, op.To = h.results[orphans[0]].id, h.calls[open[0]].id
		h.op(op)
	}
}
