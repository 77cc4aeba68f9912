package patch

import (
	"slices"
	"strings"
)

func (f blockShape) render(h *history) {
	w := blockWriter{h: h, f: f.blockFormat, facts: f.about(), base: -1}
	for m := range h.messages {
		switch h.role[m] {
		case assistant:
			w.turn(m)
		case user:
			w.user(m)
		case tool:
			w.misplaced(m)
		default:
			w.flush()
			h.copy(m)
		}
	}
	w.flush()
	if *h.opts.MergeRoles {
		w.mergeRoles()
	}
}

type blockWriter struct {
	*facts
	h       *history
	f       blockFormat
	t, r    int       // the next turn, the next result
	results []string  // results of the last turn, for the next user's message
	base    int       // message that has nothing but these results, -1 for none
	texts   []string  // blocks behind these results, made of results in the model's messages
	own     ownBlocks // of the user's message, reused
	blocks  []string  // the blocks of a message, reused
}

// turn writes a message of the model. The last one of a turn keeps the turn's results
// for the next message.
func (w *blockWriter) turn(m int) {
	h := w.h
	if w.t == 0 || m > h.turns[w.t-1].last {
		w.t++
	}
	in := w.insideResults(m)
	w.put(in.before)
	w.flush()
	raw, calls := h.at(m), h.callsOf(&h.turns[w.t-1], m)
	if len(in.leaves) > 0 || slices.ContainsFunc(calls, func(c call) bool { return c.changed() }) {
		raw = w.rewritten(raw, calls, in.leaves, in.behind.calls)
	}
	if m == h.turns[w.t-1].last {
		w.keepResults(m)
	}
	w.results = append(w.results, in.behind.results...)
	w.texts = append(w.texts, in.behind.texts...)
	raw = h.addServerResults(m, w.t-1, raw)
	if blocks := member(raw, w.list); raw != h.at(m) && isEmpty(blocks) {
		return // all of its blocks were dropped
	}
	h.put(m, raw)
}

func (w *blockWriter) keepResults(m int) {
	h, t := w.h, w.t-1
	turn := &h.turns[t]
	inPlace := func(r *result) bool {
		return r.message == m+1 && h.role[m+1] == user && (r.leading || w.apart)
	}
	for n, a := range h.answers(turn.from, turn.to, inPlace) {
		c := &h.calls[a.call]
		if a.result < 0 {
			w.results = append(w.results, w.f.synthetic(c))
			continue
		}
		r := &h.results[a.result]
		if n == 0 && w.apart && h.role[r.message] == user && h.onlyAnswers(r.message, t) {
			w.base = r.message
		}
		w.results = append(w.results, w.f.answer(h, c, r))
	}
}

func (h *history) onlyAnswers(m, t int) bool {
	other := func(r result) bool { return r.disposition != answering || h.calls[r.call].turn != t }
	return h.format.onlyResults(h, m) && !slices.ContainsFunc(h.resultsIn(m), other)
}

// rewritten returns a message with its changed calls, without the blocks that leave it,
// and with further blocks at its end.
func (w *blockWriter) rewritten(raw string, calls []call, leaves map[int]bool, more []string) string {
	raw = editCalls(raw, w.list, calls, leaves, func(c *call, block string) string {
		if !c.changed() {
			return block
		}
		return w.f.call(c, block)
	})
	if len(more) == 0 {
		return raw
	}
	return editMember(raw, w.list, func(content string) string { return list(append(elementList(content), more...)) })
}

func (w *blockWriter) user(m int) {
	h := w.h
	content := member(h.at(m), w.list)
	if w.apart && !h.hasAnswers(m, w.t-1) {
		w.flush()
	}
	if !strings.HasPrefix(content, "[") {
		blocks := w.takeResults()
		if len(blocks) == 0 {
			h.copy(m)
			return
		}
		h.put(m, setMember(h.at(m), w.list, list(append(blocks, w.blocksOf(content)...))))
		return
	}
	calls := w.readOwn(m, content)
	if len(calls) > 0 { // the calls made for orphans come before their results
		w.flush()
		h.add(w.f.turn(calls))
	}
	w.blocks = w.own.with(w.takeResults(), w.blocks[:0])
	blocks := w.blocks
	if len(blocks) == 0 && !isEmpty(content) {
		return // all of its results moved or were dropped
	}
	now := unchangedOr(content, blocks)
	if now == content {
		h.copy(m)
		return
	}
	raw := editMember(h.at(m), w.list, func(string) string { return now })
	if w.own.notes { // they are texts, which a content of functions cannot have
		raw = editMember(raw, "role", func(string) string { return `"user"` })
	}
	h.put(m, raw)
}

func (h *history) hasAnswers(m, t int) bool {
	return slices.ContainsFunc(h.resultsIn(m), func(r result) bool { return r.disposition == answering && h.calls[r.call].turn == t })
}

type ownBlocks struct {
	blocks []string
	notes  bool  // some of them are texts that quote a result
	slots  []int // indices in blocks before which a result of the last turn was; empty if results come first
}

// with appends the blocks to out with the results of the last turn: each at the
// place of such a result, and the others behind the last one.
func (o *ownBlocks) with(results, out []string) []string {
	if len(o.slots) == 0 {
		return append(append(out, results...), o.blocks...)
	}
	at := 0
	for i, slot := range o.slots {
		out = append(out, o.blocks[at:slot]...)
		n := min(1, len(results))
		if i == len(o.slots)-1 {
			n = len(results)
		}
		out, results, at = append(out, results[:n]...), results[n:], slot
	}
	return append(out, o.blocks[at:]...)
}

func (w *blockWriter) readOwn(m int, content string) (calls []string) {
	h, own := w.h, &w.own
	own.blocks, own.slots, own.notes = own.blocks[:0], own.slots[:0], false
	var theirs []string
	for n, b := range elements(content) {
		r := w.resultAt(m, n)
		if r == nil {
			own.blocks = append(own.blocks, b)
			continue
		}
		switch r.disposition {
		case answering:
			if w.apart && len(w.results) > 0 && h.calls[r.call].turn == w.t-1 {
				own.slots = append(own.slots, len(own.blocks))
			}
		case kept:
			own.blocks = append(own.blocks, b)
		case asNote, asText:
			own.blocks, own.notes = append(own.blocks, w.f.note(h, r)...), true
		case adopted:
			call, result := w.f.adopt(r)
			calls, theirs = append(calls, call), append(theirs, result)
		}
	}
	if len(theirs) > 0 {
		own.blocks, own.slots = append(theirs, own.blocks...), own.slots[:0]
	}
	return calls
}

func (w *blockWriter) resultAt(m, block int) *result {
	for results := w.h.results; w.r < len(results); w.r++ {
		r := &results[w.r]
		if r.message == m && r.block == block {
			return r
		}
		if r.message > m || r.message == m && r.block > block {
			break
		}
	}
	return nil
}

func (w *blockWriter) flush() {
	base := w.base
	blocks := w.takeResults()
	switch {
	case len(blocks) == 0:
	case base >= 0:
		w.h.put(base, editMember(w.h.at(base), w.list, func(content string) string { return unchangedOr(content, blocks) }))
	default:
		w.h.add(w.f.results(w.h, w.t-1, blocks))
	}
}

// takeResults returns the blocks that wait for the next user's message.
func (w *blockWriter) takeResults() []string {
	blocks := append(w.results, w.texts...)
	w.results, w.texts, w.base = w.results[:0], w.texts[:0], -1
	return blocks
}

func (w *blockWriter) mergeRoles() {
	h := w.h
	out := make([]piece, 0, len(h.out))
	for i := 0; i < len(h.out); {
		p := h.out[i]
		role := text(member(h.text(p), "role"))
		n := i + 1
		for n < len(h.out) && w.f.roleOf(role) != other && text(member(h.text(h.out[n]), "role")) == role {
			h.op(Op{Op: "roles_merged", Turn: -1, Message: h.out[n].message, Call: -1})
			n++
		}
		if n > i+1 {
			var blocks []string
			for _, q := range h.out[i:n] {
				blocks = append(blocks, w.blocksOf(member(h.text(q), w.list))...)
			}
			p.text = setMember(h.text(p), w.list, list(blocks))
		}
		out = append(out, p)
		i = n
	}
	h.out = out
}

func (w *blockWriter) blocksOf(content string) []string {
	if !strings.HasPrefix(content, "[") {
		if text(content) == "" {
			return nil
		}
		return []string{w.f.text(content)}
	}
	return elementList(content)
}
