package patch

// A result of a client's tool has no place in the model's message. Some programs
// write it there all the same. It moves behind its call as every other result does.
// A result that precedes all other blocks of the message precedes its turn. The
// systems that profiles reproduce do not read such results.

type insideResults struct {
	leaves         map[int]bool // blocks that leave the message
	before, behind replacements // before and behind the turn
}

type replacements struct {
	texts          []string
	calls, results []string // calls that are made for orphans, and their results
}

func (w *blockWriter) insideResults(m int) (in insideResults) {
	h := w.h
	for w.r < len(h.results) && h.results[w.r].message < m {
		w.r++
	}
	for ; w.r < len(h.results) && h.results[w.r].message == m; w.r++ {
		r := &h.results[w.r]
		if r.disposition == kept {
			continue
		}
		if in.leaves == nil {
			in.leaves = map[int]bool{}
		}
		in.leaves[r.block] = true
		to := &in.behind
		if r.after < w.t-1 { // w.t-1 is the last turn, which may be this message
			to = &in.before
		}
		switch r.disposition {
		case asNote, asText:
			to.texts = append(to.texts, w.f.note(h, r)...)
		case adopted:
			call, result := w.f.adopt(r)
			to.calls, to.results = append(to.calls, call), append(to.results, result)
		}
	}
	return in
}

func (w *blockWriter) put(r replacements) {
	if len(r.calls) > 0 {
		w.flush()
		w.h.add(w.f.turn(r.calls))
		w.results = append(w.results, r.results...)
	}
	w.texts = append(w.texts, r.texts...)
}

// misplaced writes a message of the model that has only results. Those that are
// kept stay in it.
func (w *blockWriter) misplaced(m int) {
	in := w.insideResults(m)
	w.put(in.behind)
	if raw := w.rewritten(w.h.at(m), nil, in.leaves, nil); !isEmpty(member(raw, w.list)) {
		w.flush()
		w.h.put(m, raw)
	}
}
