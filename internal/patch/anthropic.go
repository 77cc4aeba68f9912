package patch

// anthropicFormat is a history of Anthropic's messages:
// https://docs.anthropic.com/en/api/messages
// The results of a turn stand first in the user's message right behind it.
type anthropicFormat struct{}

func (anthropicFormat) shape() Shape { return Anthropic }

func (anthropicFormat) claims(l traits) bool {
	return l.anthropic && oneOf(l.role, "user assistant")
}

// anthropicBlock tells whether a type of block is Anthropic's alone.
func anthropicBlock(kind string) bool {
	return oneOf(kind, "tool_use tool_result thinking redacted_thinking") || serverCall(kind) || serverResult(kind)
}

func (anthropicFormat) canAnswer(*call, *result) bool { return true }

func (anthropicFormat) hasName(*call) bool { return true }

func (f anthropicFormat) onlyResults(h *history, m int) bool {
	return h.role[m] == user && allResults(member(h.at(m), "content"))
}

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
	switch role {
	case "assistant":
		f.readTurn(h, m, content)
	case "user":
		h.role[m] = user
		leads := true
		for n, b := range elements(content) {
			r, ok := anthropicResult(n, b)
			if leads = leads && ok; ok {
				r.leading = leads
				h.addResult(m, r)
			}
		}
	}
}

func (anthropicFormat) readTurn(h *history, m int, content string) {
	h.addTurn(m)
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
		switch kind {
		case "tool_use":
			c.checkObjectArgs()
			h.addCall(m, c)
		case "thinking", "redacted_thinking":
			t := &h.turns[len(h.turns)-1]
			t.signed = t.signed || signed
		}
	}
}

func anthropicResult(n int, block string) (result, bool) {
	r := result{block: n, raw: block}
	kind := ""
	for name, v := range members(block) {
		switch name {
		case "type":
			kind = text(v)
		case "tool_use_id":
			r.id = text(v)
		case "content":
			r.content = v
		}
	}
	return r, kind == "tool_result"
}
