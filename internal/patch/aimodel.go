package patch

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/events"
)

// aiModelFormat is a list of the AI SDK's ModelMessages. The results of a turn are
// parts of the tool messages that directly follow it.
// https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message
type aiModelFormat struct{ *facts }

func aiModel() format {
	return aiModelFormat{&facts{
		shape: AIModel, resultID: "toolCallId", anyContent: true, server: []string{"providerExecuted"},
		claims: "content:tool-call content:tool-result content:tool-approval-request content:tool-approval-response",
		knows:  "role:tool",
	}}
}

// waits reports whether only tool messages follow the call.
func (aiModelFormat) waits(h *history, c *call) bool {
	return c.turn == len(h.turns)-1 && h.onlyResultsFrom(h.turns[c.turn].last+1)
}

func (f aiModelFormat) read(h *history, m int) {
	raw := h.at(m)
	role, content := text(member(raw, "role")), member(raw, "content")
	switch role {
	case "assistant":
		f.readTurn(h, m, content)
	case "tool":
		h.role[m] = tool
		if content == "" || content[0] != '[' {
			h.refuse(m, `a tool message whose "content" is no list`)
		}
	case "user":
		h.role[m] = user
	}
	if content == "" {
		h.refuse(m, `it has no "content"`)
	}
	for n, part := range elements(content) {
		switch kind := text(member(part, "type")); {
		case kind == "tool-call" && role == "assistant", kind == "tool-approval-request" && role == "assistant":
		case kind == "tool-result" && (role == "tool" || role == "assistant"):
			f.readResult(h, m, n, part)
		case kind == "tool-approval-response" && role == "tool":
			f.readResponse(h, part)
		case oneOf(kind, "tool-call tool-result tool-approval-request tool-approval-response"):
			h.refuse(m, "a %q in a message of role %q", kind, role)
		}
	}
}

func (aiModelFormat) readTurn(h *history, m int, content string) {
	t := h.addTurn(m)
	asked := map[string]string{} // approvals by call
	for _, part := range elements(content) {
		switch text(member(part, "type")) {
		case "tool-approval-request":
			asked[text(member(part, "toolCallId"))] = text(member(part, "approvalId"))
		case "reasoning", "reasoning-file":
			t.signed = t.signed || signedOptions(member(part, "providerOptions"))
		}
	}
	for n, part := range elements(content) {
		if text(member(part, "type")) != "tool-call" {
			continue
		}
		c := callIn(part, "toolCallId", "toolName", "input")
		c.at = n
		if c.args == "" && member(part, "args") != "" {
			h.refuse(m, `a call with "args" of AI SDK 4, where later versions have "input"`)
		}
		if member(part, "providerExecuted") == "true" {
			if c.id == "" {
				h.refuse(m, `a call without "toolCallId"`)
			}
			h.hosted[c.id] = true
			continue
		}
		delete(h.hosted, c.id)
		c.parent = text(member(member(member(member(part, "providerOptions"), "anthropic"), "caller"), "toolId"))
		if approval := asked[c.id]; approval != "" {
			c.asked = true
			h.approvals[approval] = len(h.calls)
		}
		h.addCall(m, c)
	}
}

// readResult reads a part that is a result. Those of calls that the provider runs
// stay where they are.
func (aiModelFormat) readResult(h *history, m, n int, part string) {
	r, output := result{block: n, raw: part}, ""
	scan(part, to{"toolCallId", &r.idText}, to{"toolName", &r.name}, to{"output", &output})
	r.id, r.name, r.content = text(r.idText), text(r.name), output
	switch {
	case h.hosted[r.id] && r.idText != "":
		return
	case output == "" && member(part, "result") != "":
		h.refuse(m, `a result with "result" of AI SDK 4, where later versions have "output"`)
	case output == "":
		h.refuse(m, `a result without "output"`)
	}
	if value := member(output, "value"); value != "" {
		r.content = value
	}
	h.addResult(m, r)
}

func (aiModelFormat) readResponse(h *history, part string) {
	if c, ok := h.approvals[text(member(part, "approvalId"))]; ok {
		h.calls[c].denied, h.calls[c].why = member(part, "approved") == "false", member(part, "reason")
	}
}

func signedOptions(options string) bool {
	for _, provider := range members(options) {
		for name, v := range members(provider) {
			if oneOf(name, "signature thoughtSignature redactedData reasoningEncryptedContent") && text(v) != "" {
				return true
			}
		}
	}
	return false
}

func (f aiModelFormat) render(h *history) {
	w := aiModelWriter{h: h}
	for m := 0; m < len(h.messages); m++ {
		switch h.role[m] {
		case assistant:
			m = w.turn(m)
		case tool:
			w.message(m, nil, -1)
			w.putTexts()
		default:
			h.copy(m)
		}
	}
}

type aiModelWriter struct {
	h     *history
	t, r  int     // the next turn, the next result
	texts []piece // messages that are made of results without a place
}

// turn writes a turn with its results, and returns the last message of the input
// that it wrote.
func (w *aiModelWriter) turn(m int) int {
	h, t := w.h, w.t
	w.t++
	turn := &h.turns[t]
	w.message(m, h.calls[turn.from:turn.to], -1)
	group := h.answers(turn.from, turn.to, turn.directly)
	stays := func(a answer) bool { return a.result >= 0 && turn.directly(&h.results[a.result]) }
	if h.opts.Order == "call" && !staysFirst(group, stays) {
		stays, t = func(answer) bool { return false }, -1
	}
	for next := m + 1; next < turn.resultsEnd; next++ {
		w.message(next, nil, t)
	}
	var parts []string
	put := func() {
		if len(parts) > 0 {
			h.add(`{"role":"tool","content":` + list(parts) + `}`)
		}
		parts = nil
	}
	for _, a := range group {
		switch {
		case stays(a):
		case a.result >= 0 && w.alone(a.result):
			put()
			m := h.results[a.result].message
			h.put(m, editMember(h.at(m), "content", func(c string) string {
				return editElements(c, func(int, string) (string, bool) { return w.part(a), true })
			}))
		default:
			parts = append(parts, w.part(a))
		}
	}
	put()
	w.putTexts()
	return turn.resultsEnd - 1
}

// serverCall reports a call of Anthropic: its API refuses one without a result. Others do not
// need one, and the SDK sends OpenAI a reference to each that it is given.
func (aiModelFormat) serverCall(part string) (id, name string, ok bool) {
	id, name = text(member(part, "toolCallId")), text(member(part, "toolName"))
	return id, name, ofServer(id) && text(member(part, "type")) == "tool-call" && member(part, "providerExecuted") == "true"
}

func (aiModelFormat) serverAnswer(part string) string {
	if text(member(part, "type")) != "tool-result" {
		return ""
	}
	return text(member(part, "toolCallId"))
}

func (f aiModelFormat) serverError(h *history, part string) string {
	id, name, _ := f.serverCall(part)
	value, failed := h.aiServerResult(id, name, member(part, "input"))
	kind := "json"
	if failed {
		kind = "error-json"
	}
	return `{"type":"tool-result","toolCallId":` + quote(id) + `,"toolName":` + quote(name) + `,"output":{"type":"` + kind + `","value":` + value + `}}`
}

// aiServerResult returns the result of an interrupted call of Anthropic, as the AI SDK reads
// it, and whether it is an error there: those of code execution need its type.
func (h *history) aiServerResult(id, name, input string) (value string, failed bool) {
	kind := text(member(input, "type"))
	switch {
	case kind == "text_editor_code_execution":
		return `{"type":"` + kind + `_tool_result_error","error_code":"unavailable"}`, false
	case kind == "bash_code_execution":
		return `{"type":"` + kind + `_tool_result_error","errorCode":"unavailable"}`, true
	case kind == "programmatic-tool-call", name == "code_execution":
		return `{"type":"code_execution_tool_result_error","errorCode":"unavailable"}`, true
	case name == "advisor":
		return `{"type":"advisor_tool_result_error","errorCode":"unavailable"}`, false
	}
	return quote(h.syntheticText(events.TextInterrupted, name, id, input)), true
}

func (w *aiModelWriter) alone(r int) bool {
	h, m := w.h, w.h.results[r].message
	if h.role[m] != tool || r > 0 && h.results[r-1].message == m || r+1 < len(h.results) && h.results[r+1].message == m {
		return false
	}
	return len(elementList(member(h.at(m), "content"))) == 1
}

func staysFirst(group []answer, stays func(answer) bool) bool {
	return slices.IsSortedFunc(group, func(a, b answer) int {
		switch {
		case stays(a) == stays(b) && stays(a):
			return a.result - b.result
		case stays(a) == stays(b):
			return 0
		case stays(a):
			return -1
		}
		return 1
	})
}

func (w *aiModelWriter) part(a answer) string {
	c := &w.h.calls[a.call]
	if a.result < 0 {
		return aiModelResult(c)
	}
	r := &w.h.results[a.result]
	return w.h.format.about().withCallID(r.raw, c, r)
}

// message writes a message with its changed calls, and without the results that
// leave it: all that do not answer turn t. A tool message without a part goes.
func (w *aiModelWriter) message(m int, calls []call, t int) {
	h := w.h
	ids := map[string]string{}
	parts := 0
	raw := editMember(h.at(m), "content", func(content string) string {
		return editElements(content, func(n int, part string) (string, bool) {
			now, stays := w.keptPart(m, n, part, t)
			if len(calls) > 0 && calls[0].at == n {
				c := &calls[0]
				calls = calls[1:]
				if now, stays = c.rewritten(part, "toolCallId", "toolName", ""), c.dropped == ""; stays && ids[c.id] == "" {
					ids[c.id] = c.finalID()
				}
			}
			if id := text(member(part, "toolCallId")); ids[id] != "" && ids[id] != id && text(member(part, "type")) == "tool-approval-request" {
				now = setMember(part, "toolCallId", quote(ids[id]))
			}
			if stays {
				parts++
			}
			return now, stays
		})
	})
	if h.role[m] == assistant {
		raw = h.addServerResults(m, w.t-1, raw)
	}
	if parts > 0 || raw == h.at(m) {
		h.put(m, raw)
	}
}

// keptPart returns a part of a message that is no call, and whether it stays there.
func (w *aiModelWriter) keptPart(m, n int, part string, t int) (string, bool) {
	h := w.h
	for w.r < len(h.results) && (h.results[w.r].message < m || h.results[w.r].message == m && h.results[w.r].block < n) {
		w.r++
	}
	if w.r == len(h.results) || h.results[w.r].message != m || h.results[w.r].block != n {
		return part, true
	}
	r := &h.results[w.r]
	switch r.disposition {
	case kept:
		return part, true
	case answering:
		if c := &h.calls[r.call]; c.turn == t {
			return w.part(answer{r.call, w.r}), true
		}
	case asNote, asText:
		w.texts = append(w.texts, piece{-1, aiModelText(h.note(r))})
	case adopted:
		id := quote(r.changedID)
		w.texts = append(w.texts,
			piece{-1, `{"role":"assistant","content":[{"type":"tool-call","toolCallId":` + id + `,"toolName":` + quote(cmp.Or(r.name, "unknown")) + `,"input":{}}]}`},
			piece{-1, `{"role":"tool","content":[` + setMember(part, "toolCallId", id) + `]}`})
	}
	return part, false
}

func (w *aiModelWriter) putTexts() {
	w.h.out = append(w.h.out, w.texts...)
	w.texts = nil
}

// aiModelText returns a user's message. A part that such a message cannot have
// becomes a text.
func aiModelText(content string) string {
	content = editElements(content, func(_ int, part string) (string, bool) {
		if text(member(part, "type")) == "text" {
			return part, true
		}
		return textBlock(quote(part)), true
	})
	return `{"role":"user","content":` + content + `}`
}

func (aiModelFormat) message(c *call) string {
	return `{"role":"tool","content":[` + aiModelResult(c) + `]}`
}

func aiModelResult(c *call) string {
	return `{"type":"tool-result","toolCallId":` + c.finalIDText() + `,"toolName":` + quote(c.finalName()) + `,"output":` + aiModelOutput(c) + `}`
}

func aiModelOutput(c *call) string {
	kind, failed := text(member(c.content, "type")), ""
	if c.isError {
		failed = "error-"
	}
	switch {
	case c.denied && !c.real():
		if c.why == "" {
			return `{"type":"execution-denied"}`
		}
		return `{"type":"execution-denied","reason":` + c.why + `}`
	case oneOf(kind, "text json error-text error-json content") && member(c.content, "value") != "", kind == "execution-denied":
		return c.content
	case strings.HasPrefix(c.content, `"`):
		return `{"type":"` + failed + `text","value":` + c.content + `}`
	}
	return `{"type":"` + failed + `json","value":` + c.content + `}`
}
