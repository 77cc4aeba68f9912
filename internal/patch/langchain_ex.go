package patch

import (
	"cmp"
	"strings"
)

// langchainExFormat is a history of LangChain for Elixir. A tool message has the
// results of a turn in a list. A turn may have several such messages.
// https://hexdocs.pm/langchain/LangChain.Message.html
type langchainExFormat struct{ *facts }

func langchainEx() format {
	return messageShape{langchainExFormat{&facts{
		shape: LangChainEx, claims: "tool_calls.call_id tool_results tool_results.tool_call_id", knows: "role:tool tool_calls content:thinking", resultID: "tool_call_id",
	}}}
}

func (langchainExFormat) read(h *history, m int) {
	var word, calls, results, content string
	scan(h.at(m), to{"role", &word}, to{"tool_calls", &calls}, to{"tool_results", &results}, to{"content", &content})
	role := text(word)
	switch {
	case role != "assistant" && !isEmpty(calls):
		h.refuse(m, `"tool_calls" in a message of role %q`, role)
	case role != "tool" && !isEmpty(results):
		h.refuse(m, `"tool_results" in a message of role %q`, role)
	case role == "tool" && results == "":
		h.refuse(m, `it has no "tool_results"`)
	}
	switch role {
	case "assistant":
		t := h.addTurn(m)
		if calls == "" && isEmpty(content) && text(content) == "" {
			h.opaque = m + 1
		}
		for _, part := range elements(content) {
			t.signed = t.signed || hasSignature(member(part, "options"))
		}
		for n, element := range elements(calls) {
			t.signed = t.signed || hasSignature(member(element, "metadata"))
			h.addCall(m, langchainExCall(n, element))
		}
	case "tool":
		h.role[m] = tool
		for n, element := range elements(results) {
			// The result of an interrupt stands for one that the program writes when it continues.
			r, interrupt := result{block: n, raw: element}, ""
			scan(element, to{"tool_call_id", &r.idText}, to{"name", &r.name}, to{"content", &r.content}, to{"is_interrupt", &interrupt})
			r.id, r.name, r.placeholder = text(r.idText), text(r.name), interrupt == "true"
			h.addResult(m, r)
		}
	case "user":
		h.role[m] = user
	}
}

func hasSignature(object string) bool {
	for name, v := range members(object) {
		if strings.Contains(name, "signature") && text(v) != "" || text(v) == "redacted_thinking" {
			return true
		}
	}
	return false
}

// langchainExCall reads call n of a message. Its args may be absent, and a text
// with an object is parsed by the program that loads the history.
func langchainExCall(n int, element string) call {
	c := callIn(element, "call_id", "name", "arguments")
	c.at = n
	if c.id == "" && isNull(member(element, "name")) { // nothing links it to its result
		c.idText = ""
	}
	if c.args == "" || strings.HasPrefix(c.args, `"{`) && isJSON(c.args) {
		return c
	}
	if c.checkObjectArgs(); c.changedArgs != "{}" {
		c.changedArgs = ""
	}
	return c
}

func (langchainExFormat) rewrite(h *history, m int, calls []call) string {
	return editCalls(h.at(m), "tool_calls", calls, nil, func(c *call, element string) string {
		return c.rewritten(element, "call_id", "name", "arguments")
	})
}

// putResults writes the results of a turn: each result at the place of one in the
// tool messages behind the turn, and the others behind the last one. Without such a
// message they are a message of their own.
func (f langchainExFormat) putResults(h *history, t int) {
	turn := &h.turns[t]
	group := h.answers(turn.from, turn.to, turn.directly)
	elements := h.newResults[:0]
	base := -1
	for n, a := range group {
		if a.result < 0 {
			elements = append(elements, f.element(&h.calls[a.call], h.textual(t)))
			continue
		}
		r := &h.results[a.result]
		if n == 0 && h.onlyAnswers(r.message, t) {
			base = r.message
		}
		elements = append(elements, f.withCallID(r.raw, &h.calls[r.call], r))
	}
	h.newResults = elements
	last := -1 // the last message with a place
	for m := turn.last + 1; m < turn.resultsEnd; m++ {
		if h.hasAnswers(m, t) {
			last = m
		}
	}
	for m := turn.last + 1; m <= last; m++ {
		if h.hasAnswers(m, t) {
			elements = h.fillPlaces(m, t, elements, m == last)
		}
	}
	switch {
	case len(elements) == 0:
	case base >= 0:
		h.putElements(base, elements)
	default:
		h.add(f.toolMessage(elements))
	}
}

// fillPlaces writes tool message m with elements at the places of results of turn t,
// or with all elements, and returns those that are left.
func (h *history) fillPlaces(m, t int, elements []string, all bool) []string {
	now := h.places[:0]
	for _, r := range h.resultsIn(m) {
		switch {
		case r.disposition == kept:
			now = append(now, r.raw)
		case r.disposition == answering && h.calls[r.call].turn == t:
			now, elements = append(now, elements[0]), elements[1:]
		}
	}
	if all {
		now, elements = append(now, elements...), nil
	}
	h.places = now
	h.putElements(m, now)
	return elements
}

func (h *history) putElements(m int, results []string) {
	content := member(h.at(m), "tool_results")
	now := unchangedOr(content, results)
	if now == content {
		h.copy(m)
		return
	}
	h.put(m, setMember(h.at(m), "tool_results", now))
}

func (langchainExFormat) toolMessage(results []string) string {
	return `{"role":"tool","content":null,"status":"complete","tool_results":` + list(results) + `}`
}

// textual reports whether the content of the last result before the turn that
// follows turn t is a text and not a list.
func (h *history) textual(t int) bool {
	_, to := h.gap(t)
	return to > 0 && strings.HasPrefix(h.results[to-1].content, `"`)
}

func (f langchainExFormat) message(c *call) string {
	return f.toolMessage([]string{f.element(c, false)})
}

// element returns the new result of a call. textual determines the form of a text.
func (langchainExFormat) element(c *call, textual bool) string {
	content, isError := c.content, "false"
	if strings.HasPrefix(content, `"`) && !textual {
		content = list([]string{langchainExText(content)})
	}
	if c.isError {
		isError = "true"
	}
	return `{"type":"function","tool_call_id":` + c.finalIDText() + `,"name":` + quote(c.finalName()) +
		`,"content":` + content + `,"is_error":` + isError + `,"is_interrupt":false}`
}

func langchainExText(quoted string) string { return `{"type":"text","content":` + quoted + `}` }

func (langchainExFormat) content(value string) string {
	value = strings.TrimSpace(value)
	typed := func(part string) bool { return member(part, "type") != "" && member(part, "content") != "" }
	if strings.HasPrefix(value, `"`) || each(value, typed) {
		return value
	}
	return quote(value)
}

func (f langchainExFormat) note(h *history, r *result) string {
	head := h.noteHead(r)
	if strings.HasPrefix(r.content, `"`) {
		return join(head+"\n", r.content)
	}
	parts := []string{langchainExText(quote(head))}
	if r.content == "" {
		parts = append(parts, langchainExText(quote(r.raw)))
	}
	for _, part := range elements(r.content) {
		if !oneOf(text(member(part, "type")), "text image image_url file file_url") {
			part = langchainExText(quote(text(part)))
		}
		parts = append(parts, part)
	}
	return list(parts)
}

func (langchainExFormat) userText(_ *history, _ int, content string) string {
	return `{"role":"user","content":` + content + `,"status":"complete"}`
}

func (f langchainExFormat) adopt(_ *history, r *result) (turn, result string) {
	id := quote(r.changedID)
	turn = `{"role":"assistant","content":null,"status":"complete","tool_calls":[{"status":"complete","type":"function","call_id":` + id +
		`,"name":` + quote(cmp.Or(r.name, "unknown")) + `,"arguments":{}}]}`
	return turn, f.toolMessage([]string{setMember(r.raw, "tool_call_id", id)})
}

// keep writes the orphans that stay in a message, unless putResults wrote them.
func (langchainExFormat) keep(h *history, r *result) {
	var now []string
	for _, other := range h.resultsIn(r.message) {
		switch {
		case other.disposition == answering && h.turns[h.calls[other.call].turn].directly(&other), other.disposition == kept && other.block < r.block:
			return
		case other.disposition == kept:
			now = append(now, other.raw)
		}
	}
	h.putElements(r.message, now)
}
