package patch

import "strings"

// blockFormat is a format in which calls and results are blocks of messages. The
// results of a turn are in the user's message that directly follows it.
type blockFormat interface {
	rules
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

type plainBlocks struct{ *facts }

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

func (f plainBlocks) answer(_ *history, c *call, r *result) string { return f.withCallID(r.raw, c, r) }

// blockShape is a format made of a blockFormat.
type blockShape struct{ blockFormat }

func (f blockShape) onlyResults(h *history, m int) bool {
	return h.role[m] == tool || h.role[m] == user && allResults(f.blockFormat, member(h.at(m), f.about().list))
}

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

func (f blockShape) read(h *history, m int) {
	var word, content string
	keys := 0
	for name, v := range members(h.at(m)) {
		keys++
		switch name {
		case "role":
			word = text(v)
		case f.about().list:
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
		h.refuse(m, "its %q is an object, not a list", f.about().list)
	case content == "null" && role == assistant:
		h.opaque = m + 1
	case content != "" || role == other:
	case keys > 1 || !f.about().apart:
		h.refuse(m, "it has no %q", f.about().list)
	case role == assistant:
		h.opaque = m + 1
	}
	switch f.roleOf(word) {
	case assistant:
		f.readTurn(h, m, content)
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

// readTurn reads a message of the model. Results of a client's tools with which it begins
// precede its turn. A message that has nothing else is no turn.
func (f blockShape) readTurn(h *history, m int, content string) {
	turn, results := false, false
	begin := func() {
		if !turn {
			turn = true
			h.addToRun(m, f.runs(h.opts))
		}
	}
	for n, b := range elements(content) {
		if r, ok := f.readResult(n, b); ok && !h.hosted[r.id] {
			if results = h.opts.Profile == ""; results {
				h.addResult(m, r)
			}
			continue
		}
		begin()
		if known := f.about().blocks; known != "" && !hasMember(b, known) {
			h.opaque = m + 1
		}
		if f.readBlock(h, m, n, b) {
			h.turns[len(h.turns)-1].signed = true
		}
	}
	if results && !turn {
		h.role[m] = tool
		return
	}
	begin()
}

// addToRun adds message m to the turn before it, or begins a turn if runs are no
// turns or if another message or a result is in between.
func (h *history) addToRun(m int, runs bool) {
	if r := len(h.results) - 1; !runs || r >= 0 && h.results[r].after == len(h.turns)-1 {
		h.addTurn(m)
		return
	}
	h.extendTurn(m)
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
