package patch

// A result of a client's tool has no place in the model's message. Some programs
// write it there all the same. It moves behind its call as every other result does.
// A result that precedes all other blocks of the message precedes its turn. The
// systems that profiles reproduce do not read such results.

// readMisplaced reads the results in a message of the model.
func readMisplaced(h *history, m int, content string) {
	if h.opts.Profile != "" {
		return
	}
	for n, b := range elements(content) {
		if r, ok := anthropicResult(n, b); ok {
			h.addResult(m, r)
		}
	}
}

// leadingResults returns the list of the results with which the content of a message
// begins, "" if there is none.
func leadingResults(content string) string {
	var blocks []string
	for _, b := range elements(content) {
		if text(member(b, "type")) != "tool_result" {
			break
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return ""
	}
	return list(blocks)
}

// insideResults is what becomes of the results in a message of the model.
type insideResults struct {
	leaves         map[int]bool // blocks that leave the message
	before, behind rewritten    // before and behind the turn
}

// rewritten has the blocks that are made of results without a call.
type rewritten struct {
	texts          []string
	calls, results []string // calls that are made for orphans, and their results
}

// insideResults returns what becomes of the results in message m.
func (w *anthropicWriter) insideResults(m int) (in insideResults) {
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
			to.texts = append(to.texts, blocksOf(h.note(r))...)
		case adopted:
			to.calls = append(to.calls, adoptingCall(r))
			to.results = append(to.results, setMember(r.raw, "tool_use_id", quote(r.changedID)))
		}
	}
	return in
}

// put writes blocks that are made of results between two turns.
func (w *anthropicWriter) put(r rewritten) {
	if len(r.calls) > 0 {
		w.flush()
		w.h.add(turnOf(r.calls))
		w.results = append(w.results, r.results...)
	}
	w.texts = append(w.texts, r.texts...)
}

// misplaced writes a message of the model that has only results. Those that are
// kept stay in it.
func (w *anthropicWriter) misplaced(m int) {
	in := w.insideResults(m)
	w.put(in.behind)
	if raw := anthropicBlocks(w.h.at(m), nil, in.leaves, nil); !isEmpty(member(raw, "content")) {
		w.flush()
		w.h.put(m, raw)
	}
}

// adoptingCall returns the block of a call that is made for an orphan.
func adoptingCall(r *result) string {
	return `{"type":"tool_use","id":` + quote(r.changedID) + `,"name":"unknown","input":{}}`
}

// turnOf returns a message of the model with these blocks.
func turnOf(blocks []string) string { return `{"role":"assistant","content":` + list(blocks) + `}` }
