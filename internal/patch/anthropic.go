package patch

import "strings"

// anthropicFormat is a history of Anthropic's messages. The results of a turn come
// first in the user's message that directly follows it.
// https://docs.anthropic.com/en/api/messages
type anthropicFormat struct{ commonFormat }

func (anthropicFormat) shape() Shape { return Anthropic }

func (anthropicFormat) vocabulary() vocabulary {
	return vocabulary{claims: "content:tool_use content:tool_result content:thinking content:redacted_thinking " +
		"content:server_tool_use content:mcp_tool_use content:*_tool_result"}
}

func (f anthropicFormat) onlyResults(h *history, m int) bool {
	return h.role[m] == tool || h.role[m] == user && allResults(member(h.at(m), "content"))
}

// allResults reports whether content is a list of tool results only.
func allResults(content string) bool {
	n := 0
	for _, b := range elements(content) {
		if text(member(b, "type")) != "tool_result" {
			return false
		}
		n++
	}
	return n > 0
}

func (f anthropicFormat) read(h *history, m int) {
	raw := h.at(m)
	var role, content string
	for name, v := range members(raw) {
		switch name {
		case "role":
			role = text(v)
		case "content":
			content = v
		}
	}
	if content == "" && oneOf(role, "user assistant") {
		h.refuse(m, `it has no "content"`)
	}
	switch {
	case role == "assistant" && h.opts.Profile == "" && allResults(content):
		h.role[m] = tool
		readMisplaced(h, m, content)
	case role == "assistant":
		f.readTurn(h, m, content)
	case role == "user":
		h.role[m] = user
		leading := true
		for n, b := range elements(content) {
			if text(member(b, "type")) == "tool_use" {
				h.refuse(m, "a call in a message of role %q", role)
			}
			r, ok := anthropicResult(n, b)
			if leading = leading && ok; ok {
				r.leading = leading
				h.addResult(m, r)
			}
		}
	default:
		for _, b := range elements(content) {
			if oneOf(text(member(b, "type")), "tool_use tool_result") {
				h.refuse(m, "a call or a result in a message of role %q", role)
			}
		}
	}
}

// readTurn reads an assistant's message.
func (anthropicFormat) readTurn(h *history, m int, content string) {
	readMisplaced(h, m, leadingResults(content))
	h.addTurn(m)
	leading := true
	for n, b := range elements(content) {
		c := call{at: n}
		kind := ""
		signed := false
		for name, v := range members(b) {
			switch name {
			case "type":
				kind = text(v)
			case "id":
				c.id, c.idText = text(v), v
			case "name":
				c.name = text(v)
			case "input":
				c.args = v
			case "toolset_name":
				c.repeated = v
			case "caller":
				c.parent = text(member(v, "tool_id"))
			case "signature", "data":
				signed = signed || text(v) != ""
			}
		}
		leading = leading && kind == "tool_result"
		switch kind {
		case "tool_result":
			if !leading && h.opts.Profile == "" {
				r, _ := anthropicResult(n, b)
				h.addResult(m, r)
			}
		case "tool_use":
			c.checkObjectArgs()
			h.addCall(m, c)
		case "thinking", "redacted_thinking":
			t := &h.turns[len(h.turns)-1]
			t.signed = t.signed || signed
		}
	}
}

// anthropicResult reads block n of a user's message and reports whether it is a
// tool result.
func anthropicResult(n int, block string) (result, bool) {
	r := result{block: n, raw: block, unlinked: true}
	kind := ""
	for name, v := range members(block) {
		switch name {
		case "type":
			kind = text(v)
		case "tool_use_id":
			r.id, r.unlinked = text(v), false
		case "content":
			r.content = v
		}
	}
	return r, kind == "tool_result"
}

func (f anthropicFormat) render(h *history) {
	w := anthropicWriter{h: h}
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

// anthropicWriter writes a history of Anthropic's messages.
type anthropicWriter struct {
	h       *history
	t, r    int                   // the next turn, the next result
	results []string              // results of the last turn, for the next user's message
	texts   []string              // blocks behind these results, made of results in the model's messages
	loops   *loops                // set when a server tool without a result is found
	errors  map[int][]serverError // by turn: errors of earlier server tools
}

// turn writes an assistant's message and keeps its results for the next message.
func (w *anthropicWriter) turn(m int) {
	h, t := w.h, w.t
	w.t++
	turn := &h.turns[t]
	in := w.insideResults(m)
	w.put(in.before)
	w.flush()
	raw := h.at(m)
	if h.changed(turn) || len(in.leaves) > 0 {
		raw = anthropicBlocks(raw, h.calls[turn.from:turn.to], in.leaves, in.behind.calls)
	}
	group := h.answers(turn.from, turn.to, func(r *result) bool { return r.message == m+1 && r.leading })
	for _, a := range group {
		w.results = append(w.results, w.result(a))
	}
	w.results = append(w.results, in.behind.results...)
	w.texts = append(w.texts, in.behind.texts...)
	raw = w.addServerResults(m, t, raw)
	if blocks := member(raw, "content"); raw != h.at(m) && isEmpty(blocks) {
		return // all of its blocks were dropped
	}
	h.put(m, raw)
}

// anthropicBlocks returns a message with its changed calls, without the blocks that
// leave it, and with further blocks at its end.
func anthropicBlocks(raw string, calls []call, leaves map[int]bool, more []string) string {
	k := 0
	raw = editMember(raw, "content", func(content string) string {
		return editElements(content, func(n int, block string) (string, bool) {
			for k < len(calls) && calls[k].at < n {
				k++
			}
			if k == len(calls) || calls[k].at != n {
				return block, !leaves[n]
			}
			c := &calls[k]
			return c.rewritten(block, "id", "name", "input"), c.dropped == ""
		})
	})
	if len(more) == 0 {
		return raw
	}
	return editMember(raw, "content", func(content string) string { return list(append(elementList(content), more...)) })
}

// result returns the result block for an answer.
func (w *anthropicWriter) result(a answer) string {
	c := &w.h.calls[a.call]
	if a.result >= 0 {
		r := &w.h.results[a.result]
		block := r.raw
		if c.finalID() != r.id {
			block = setMember(block, "tool_use_id", quote(c.finalID()))
		}
		return block
	}
	return anthropicSynthetic(c)
}

func (anthropicFormat) message(c *call) string {
	return `{"role":"user","content":[` + anthropicSynthetic(c) + `]}`
}

// anthropicSynthetic returns the new result of a call as a block.
func anthropicSynthetic(c *call) string {
	block := `{"type":"tool_result","tool_use_id":` + c.finalIDText() + `,"content":` + c.content
	if c.isError {
		block += `,"is_error":true`
	}
	if c.repeated != "" {
		block += `,"toolset_name":` + c.repeated
	}
	return block + "}"
}

// user writes a user's message: the results of the last turn, then its own blocks.
func (w *anthropicWriter) user(m int) {
	h := w.h
	content := member(h.at(m), "content")
	blocks := w.takeResults()
	if !strings.HasPrefix(content, "[") {
		if len(blocks) == 0 {
			h.copy(m)
			return
		}
		if text(content) != "" {
			blocks = append(blocks, textBlock(content))
		}
		h.put(m, setMember(h.at(m), "content", list(blocks)))
		return
	}
	own, calls := w.ownBlocks(m, content)
	if len(calls) > 0 { // the calls made for orphans come before their results
		w.results = blocks
		w.flush()
		blocks = nil
		h.add(turnOf(calls))
	}
	blocks = append(blocks, own...)
	if len(blocks) == 0 && !isEmpty(content) {
		return // all of its results moved or were dropped
	}
	h.put(m, editMember(h.at(m), "content", func(string) string { return unchangedOr(content, blocks) }))
}

// ownBlocks returns the blocks that stay in a user's message, and the calls that
// are made for its orphans.
func (w *anthropicWriter) ownBlocks(m int, content string) (own, calls []string) {
	h := w.h
	var rest []string
	for n, b := range elements(content) {
		r := w.resultAt(m, n)
		if r == nil {
			rest = append(rest, b)
			continue
		}
		switch r.disposition {
		case kept:
			rest = append(rest, b)
		case asNote, asText:
			rest = append(rest, blocksOf(h.note(r))...)
		case adopted:
			calls = append(calls, adoptingCall(r))
			own = append(own, setMember(b, "tool_use_id", quote(r.changedID)))
		}
	}
	return append(own, rest...), calls
}

// resultAt returns the result in a block of message m, nil if the block is not a
// result.
func (w *anthropicWriter) resultAt(m, block int) *result {
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
func (w *anthropicWriter) flush() {
	if blocks := w.takeResults(); len(blocks) > 0 {
		w.h.add(`{"role":"user","content":` + list(blocks) + `}`)
	}
}

// takeResults returns the blocks that wait for the next user's message.
func (w *anthropicWriter) takeResults() []string {
	blocks := append(w.results, w.texts...)
	w.results, w.texts = w.results[:0], w.texts[:0]
	return blocks
}

// mergeRoles merges consecutive messages of one role.
func (w *anthropicWriter) mergeRoles() {
	h := w.h
	out := make([]piece, 0, len(h.out))
	for i := 0; i < len(h.out); {
		p := h.out[i]
		role := text(member(h.text(p), "role"))
		n := i + 1
		for n < len(h.out) && oneOf(role, "user assistant") && text(member(h.text(h.out[n]), "role")) == role {
			h.op(Op{Op: "roles_merged", Turn: -1, Message: h.out[n].message, Call: -1})
			n++
		}
		if n > i+1 {
			var blocks []string
			for _, q := range h.out[i:n] {
				blocks = append(blocks, blocksOf(member(h.text(q), "content"))...)
			}
			p.text = setMember(h.text(p), "content", list(blocks))
		}
		out = append(out, p)
		i = n
	}
	h.out = out
}

// blocksOf returns the content of a message as blocks.
func blocksOf(content string) []string {
	if !strings.HasPrefix(content, "[") {
		if text(content) == "" {
			return nil
		}
		return []string{textBlock(content)}
	}
	return elementList(content)
}
