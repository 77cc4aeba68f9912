package patch

import (
	"slices"
	"strings"
)

// blockFormat is a format in which calls and results are blocks of messages. The
// results of a turn are in the user's message that directly follows it.
type blockFormat interface {
	historyFormat
	// list returns the name of the member that has the blocks of a message.
	list() string
	// blocks returns the names of the members by which the kind of a block is
	// known, "" if it has a type.
	blocks() string
	// apart reports whether results are a message of their own, unless the next
	// one has some of them. Otherwise they are the first blocks of the user's
	// message.
	apart() bool
	// runs reports whether an unbroken run of the model's messages is one turn.
	runs(o Options) bool
	// roleOf returns the role of a message from its "role".
	roleOf(word string) role
	// readBlock reads block n of message m, which is of the model, and reports
	// whether it is signed reasoning.
	readBlock(h *history, m, n int, block string) (signed bool)
	// readResult reads block n of a message and reports whether it is a result.
	readResult(n int, block string) (result, bool)
	// isCall reports whether a block is a call.
	isCall(block string) bool
	// isMark reports whether a block has no content.
	isMark(block string) bool
	// call returns the block of a call with its changes.
	call(c *call, block string) string
	// answer returns the block of a result for its call.
	answer(h *history, c *call, r *result) string
	// synthetic returns the block of a call's new result.
	synthetic(c *call) string
	// adopt returns the block of a call that is made for an orphan, and the
	// orphan with the id of that call.
	adopt(r *result) (call, result string)
	// text returns a text block. quoted is a JSON string.
	text(quoted string) string
	// note returns the blocks of a text that quotes a result.
	note(h *history, r *result) []string
	// results returns a user's message behind turn t.
	results(h *history, t int, blocks []string) string
	// turn returns a message of the model.
	turn(blocks []string) string
}

// plainBlocks has what holds for most block formats.
type plainBlocks struct{ commonFormat }

func (plainBlocks) list() string { return "content" }

func (plainBlocks) blocks() string { return "" }

func (plainBlocks) apart() bool { return false }

func (plainBlocks) runs(Options) bool { return false }

func (plainBlocks) roleOf(word string) role {
	switch word {
	case "assistant":
		return assistant
	case "user":
		return user
	}
	return other
}

func (plainBlocks) isMark(string) bool { return false }

func (plainBlocks) results(_ *history, _ int, blocks []string) string {
	return `{"role":"user","content":` + list(blocks) + `}`
}

func (plainBlocks) turn(blocks []string) string {
	return `{"role":"assistant","content":` + list(blocks) + `}`
}

// onlyResultBlocks reports whether a message consists of results only.
func onlyResultBlocks(f blockFormat, h *history, m int) bool {
	return h.role[m] == tool || h.role[m] == user && allResults(f, member(h.at(m), f.list()))
}

// allResults reports whether content is a list of tool results only.
func allResults(f blockFormat, content string) bool {
	n := 0
	for _, b := range elements(content) {
		if _, ok := f.readResult(0, b); ok {
			n++
		} else if !f.isMark(b) {
			return false
		}
	}
	return n > 0
}

// readBlocks reads message m.
func readBlocks(f blockFormat, h *history, m int) {
	var word, content string
	keys := 0
	for name, v := range members(h.at(m)) {
		keys++
		switch name {
		case "role":
			word = text(v)
		case f.list():
			content = v
		}
	}
	if role := f.roleOf(word); role != assistant {
		for _, b := range elements(content) {
			if _, ok := f.readResult(0, b); f.isCall(b) || ok && role == other {
				h.refuse(m, "a call or a result in a message of role %q", word)
			}
		}
	}
	switch role := f.roleOf(word); {
	case strings.HasPrefix(content, "{"):
		h.refuse(m, "its %q is an object, not a list", f.list())
	case content == "null" && role == assistant:
		h.opaque = m + 1
	case content != "" || role == other:
	case keys > 1 || !f.apart():
		h.refuse(m, "it has no %q", f.list())
	case role == assistant:
		h.opaque = m + 1
	}
	switch f.roleOf(word) {
	case assistant:
		readTurnBlocks(f, h, m, content)
	case user:
		h.role[m] = user
		leading := true
		for n, b := range elements(content) {
			r, ok := f.readResult(n, b)
			if leading = leading && ok; ok {
				r.leading = leading
				h.addResult(m, r)
			}
		}
	}
}

// readTurnBlocks reads a message of the model.
func readTurnBlocks(f blockFormat, h *history, m int, content string) {
	first := h.leadingMisplaced(f, content)
	readMisplaced(f, h, m, first)
	if len(first) > 0 && h.opts.Profile == "" && len(first) == len(elementList(content)) {
		h.role[m] = tool
		return
	}
	h.addToRun(m, f.runs(h.opts))
	leading := true
	for n, b := range elements(content) {
		if r, ok := h.misplaced(f, n, b); ok {
			if !leading && h.opts.Profile == "" {
				h.addResult(m, r)
			}
			continue
		}
		leading = false
		if known := f.blocks(); known != "" && !hasMember(b, known) {
			h.opaque = m + 1
		}
		if f.readBlock(h, m, n, b) {
			h.turns[len(h.turns)-1].signed = true
		}
	}
}

// addToRun adds message m to the turn before it, or begins a turn if runs are no
// turns or if another message or a result is in between.
func (h *history) addToRun(m int, runs bool) {
	t, r := len(h.turns)-1, len(h.results)-1
	if !runs || m == 0 || h.role[m-1] != assistant || r >= 0 && h.results[r].after == t {
		h.addTurn(m)
		return
	}
	h.role[m], h.turns[t].last = assistant, m
}

// hasMember reports whether an object has a member of one of these names.
func hasMember(object, names string) bool {
	for name, v := range members(object) {
		if v != "null" && oneOf(name, names) {
			return true
		}
	}
	return false
}

func renderBlocks(f blockFormat, h *history) {
	w := blockWriter{h: h, f: f, base: -1}
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

// blockWriter writes a history of a block format.
type blockWriter struct {
	h       *history
	f       blockFormat
	t, r    int                   // the next turn, the next result
	results []string              // results of the last turn, for the next user's message
	base    int                   // message that has nothing but these results, -1 for none
	texts   []string              // blocks behind these results, made of results in the model's messages
	own     ownBlocks             // of the user's message, reused
	blocks  []string              // the blocks of a message, reused
	loops   *loops                // set when a server tool without a result is found
	errors  map[int][]serverError // by turn: errors of earlier server tools
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
	raw = w.addServerResults(m, w.t-1, raw)
	if blocks := member(raw, w.f.list()); raw != h.at(m) && isEmpty(blocks) {
		return // all of its blocks were dropped
	}
	h.put(m, raw)
}

// keepResults keeps the results of the turn that ends with message m.
func (w *blockWriter) keepResults(m int) {
	h, t := w.h, w.t-1
	turn := &h.turns[t]
	inPlace := func(r *result) bool {
		return r.message == m+1 && h.role[m+1] == user && (r.leading || w.f.apart())
	}
	for n, a := range h.answers(turn.from, turn.to, inPlace) {
		c := &h.calls[a.call]
		if a.result < 0 {
			w.results = append(w.results, w.f.synthetic(c))
			continue
		}
		r := &h.results[a.result]
		if n == 0 && w.f.apart() && h.role[r.message] == user && h.onlyAnswers(r.message, t) {
			w.base = r.message
		}
		w.results = append(w.results, w.f.answer(h, c, r))
	}
}

// onlyAnswers reports whether a message consists of results that answer calls of
// turn t.
func (h *history) onlyAnswers(m, t int) bool {
	if !h.format.onlyResults(h, m) {
		return false
	}
	for _, r := range h.resultsIn(m) {
		if r.disposition != answering || h.calls[r.call].turn != t {
			return false
		}
	}
	return true
}

// rewritten returns a message with its changed calls, without the blocks that leave
// it, and with further blocks at its end.
func (w *blockWriter) rewritten(raw string, calls []call, leaves map[int]bool, more []string) string {
	k := 0
	raw = editMember(raw, w.f.list(), func(content string) string {
		return editElements(content, func(n int, block string) (string, bool) {
			for k < len(calls) && calls[k].at < n {
				k++
			}
			if k == len(calls) || calls[k].at != n {
				return block, !leaves[n]
			}
			c := &calls[k]
			if !c.changed() {
				return block, true
			}
			return w.f.call(c, block), c.dropped == ""
		})
	})
	if len(more) == 0 {
		return raw
	}
	return editMember(raw, w.f.list(), func(content string) string { return list(append(elementList(content), more...)) })
}

// user writes a user's message with the results of the last turn.
func (w *blockWriter) user(m int) {
	h := w.h
	content := member(h.at(m), w.f.list())
	if w.f.apart() && !h.hasAnswers(m, w.t-1) {
		w.flush()
	}
	if !strings.HasPrefix(content, "[") {
		blocks := w.takeResults()
		if len(blocks) == 0 {
			h.copy(m)
			return
		}
		h.put(m, setMember(h.at(m), w.f.list(), list(append(blocks, w.blocksOf(content)...))))
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
	raw := editMember(h.at(m), w.f.list(), func(string) string { return now })
	if w.own.notes { // they are texts, which a content of functions cannot have
		raw = editMember(raw, "role", func(string) string { return `"user"` })
	}
	h.put(m, raw)
}

// hasAnswers reports whether message m has a result of turn t.
func (h *history) hasAnswers(m, t int) bool {
	for _, r := range h.resultsIn(m) {
		if r.disposition == answering && h.calls[r.call].turn == t {
			return true
		}
	}
	return false
}

// ownBlocks has the blocks that stay in a user's message.
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

// readOwn sets w.own to the blocks that stay in a user's message, and returns the
// calls that are made for its orphans.
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
			if w.f.apart() && len(w.results) > 0 && h.calls[r.call].turn == w.t-1 {
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

// resultAt returns the result in a block of message m, nil if the block is not a
// result.
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

// unchangedOr returns content if it has these blocks, and a new list of them
// otherwise.
func unchangedOr(content string, blocks []string) string {
	n := 0
	for i, b := range elements(content) {
		if i >= len(blocks) || blocks[i] != b {
			return list(blocks)
		}
		n++
	}
	if n != len(blocks) {
		return list(blocks)
	}
	return content
}

// flush writes the results of the last turn as a message of their own.
func (w *blockWriter) flush() {
	base := w.base
	blocks := w.takeResults()
	switch {
	case len(blocks) == 0:
	case base >= 0:
		w.h.put(base, editMember(w.h.at(base), w.f.list(), func(content string) string { return unchangedOr(content, blocks) }))
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

// mergeRoles merges consecutive messages of one role.
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
				blocks = append(blocks, w.blocksOf(member(h.text(q), w.f.list()))...)
			}
			p.text = setMember(h.text(p), w.f.list(), list(blocks))
		}
		out = append(out, p)
		i = n
	}
	h.out = out
}

// blocksOf returns the content of a message as blocks.
func (w *blockWriter) blocksOf(content string) []string {
	if !strings.HasPrefix(content, "[") {
		if text(content) == "" {
			return nil
		}
		return []string{w.f.text(content)}
	}
	return elementList(content)
}
