package patch

import (
	"cmp"
	"strings"
)

// geminiFormat is a history of Gemini's contents, with names in camelCase or in
// snake_case. A null member is an absent one.
// https://ai.google.dev/api/caching#Content
type geminiFormat struct{ plainBlocks }

func gemini() format {
	parts := "text inlineData inline_data fileData file_data functionCall function_call functionResponse function_response " +
		"executableCode executable_code codeExecutionResult code_execution_result toolCall tool_call toolResponse tool_response"
	return blockShape{geminiFormat{plainBlocks{&facts{
		shape: Gemini, list: "parts", apart: true, anyContent: true,
		claims: "role:model parts:untyped" + inList("parts/", parts), knows: "role:function", blocks: parts,
	}}}}
}

// refuseOutput reports a call that no content of the user precedes, which Gemini refuses.
func (geminiFormat) refuseOutput(h *history) {
	if len(h.out) == 0 || len(h.turns) == 0 || h.turns[0].from == h.turns[0].to {
		return
	}
	if m := h.out[0].message; m >= h.turns[0].first && m <= h.turns[0].last {
		h.refused = append(h.refused, Violation{h.out[0].message, "call_first", strings.Clone(h.calls[0].finalID())})
	}
}

// runs reports true: a stream may be recorded with one content for each chunk.
func (geminiFormat) runs(Options) bool { return true }

// roleOf returns the role of a content. Gemini takes one without a role for the
// user's.
func (geminiFormat) roleOf(word string) role {
	switch word {
	case "model":
		return assistant
	case "user", "function", "":
		return user
	}
	return other
}

// snake is the kind of a call whose part has names in snake_case.
const snake = "snake_case"

func geminiNames(kind string) (call, result string) {
	if kind == snake {
		return "function_call", "function_response"
	}
	return "functionCall", "functionResponse"
}

func (geminiFormat) readBlock(h *history, m, n int, part string) (signed bool) {
	for name, v := range members(part) {
		switch name {
		case "thoughtSignature", "thought_signature":
			signed = signed || text(v) != "" && text(v) != noSignature
		case "functionCall", "function_call":
			if !strings.HasPrefix(v, "{") {
				continue
			}
			c := callIn(v, "id", "name", "args")
			if c.at = n; name == "function_call" {
				c.kind = snake
			}
			if c.id == "" {
				c.key, c.idText = nameKey(c.name), member(v, "name")
			}
			if c.args != "" && c.args != "null" { // a call may have no args
				c.checkObjectArgs()
			}
			h.addCall(m, c)
		}
	}
	return signed
}

// noSignature is what Google documents as the signature of a call that the model did
// not make.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const noSignature = "skip_thought_signature_validator"

func (geminiFormat) isCall(part string) bool {
	return strings.HasPrefix(member(part, "functionCall"), "{") || strings.HasPrefix(member(part, "function_call"), "{")
}

func (geminiFormat) readResult(n int, part string) (result, bool) {
	r := result{block: n, raw: part}
	found := false
	for name, v := range members(part) {
		if !oneOf(name, "functionResponse function_response") || !strings.HasPrefix(v, "{") {
			continue
		}
		found = true
		if name == "function_response" {
			r.kind = snake
		}
		scan(v, to{"id", &r.id}, to{"name", &r.idText}, to{"response", &r.content})
		r.id, r.name = text(r.id), text(r.idText)
	}
	return r, found
}

func (geminiFormat) call(c *call, part string) string {
	name, _ := geminiNames(c.kind)
	return editMember(part, name, func(call string) string { return c.rewritten(call, "id", "name", "args") })
}

// answer returns the part of a result. If the ids match, its name stays unless it is
// empty.
func (f geminiFormat) answer(h *history, c *call, r *result) string {
	id, name := r.id, r.name
	if id != "" && c.key == "" {
		id = c.finalID()
	}
	if name == "" || c.changedName != "" || r.id == "" || r.id != c.id {
		name = c.finalName()
	}
	if name != r.name && c.changedName == "" {
		op := h.resultOp("name_changed", r)
		op.From, op.To = r.name, name
		h.op(op)
	}
	return geminiWith(r, id, name)
}

func geminiWith(r *result, id, name string) string {
	_, field := geminiNames(r.kind)
	return editMember(r.raw, field, func(response string) string {
		if id != r.id {
			response = setMember(response, "id", quote(id))
		}
		if name != r.name {
			response = setMember(response, "name", quote(name))
		}
		return response
	})
}

func (f geminiFormat) message(c *call) string { return geminiContent("user", []string{f.synthetic(c)}) }

func geminiContent(role string, parts []string) string {
	return `{"role":"` + role + `","parts":` + list(parts) + `}`
}

func (geminiFormat) synthetic(c *call) string {
	id, response := "", c.content
	if c.key == "" {
		id = `"id":` + c.finalIDText() + `,`
	}
	switch {
	case c.isError:
		response = `{"error":` + response + `}`
	case !strings.HasPrefix(response, "{"):
		response = `{"output":` + response + `}`
	}
	_, field := geminiNames(c.kind)
	return `{"` + field + `":{` + id + `"name":` + quote(c.finalName()) + `,"response":` + response + `}}`
}

func (geminiFormat) adopt(r *result) (call, result string) {
	id, name := "", cmp.Or(r.name, "unknown")
	if r.id != "" {
		id = `"id":` + quote(r.changedID) + `,`
	}
	field, _ := geminiNames(r.kind)
	signature := "thoughtSignature"
	if r.kind == snake {
		signature = "thought_signature"
	}
	call = `{"` + field + `":{` + id + `"name":` + quote(name) + `,"args":{}},"` + signature + `":"` + noSignature + `"}`
	return call, geminiWith(r, r.changedID, name)
}

func (geminiFormat) text(quoted string) string { return `{"text":` + quoted + `}` }

// note returns the parts of a text that quotes a result. The files of a result have
// the form of parts.
func (f geminiFormat) note(h *history, r *result) []string {
	head := h.noteHead(r) + "\n"
	text := singleText(r.content)
	if !strings.HasPrefix(text, `"`) {
		head, text = head+cmp.Or(r.content, r.raw), `""`
	}
	_, field := geminiNames(r.kind)
	parts := []string{f.text(join(head, text))}
	for _, p := range elements(member(member(r.raw, field), "parts")) {
		if !onlyMember(p, "inlineData fileData inline_data file_data") {
			p = f.text(quote(p))
		}
		parts = append(parts, p)
	}
	return parts
}

// results returns a content with the role of the last results before the next turn.
func (f geminiFormat) results(h *history, t int, parts []string) string {
	role := "user"
	if _, to := h.gap(t); to > 0 && allResults(f, list(parts)) && text(member(h.at(h.results[to-1].message), "role")) == "function" {
		role = "function"
	}
	return geminiContent(role, parts)
}

func (geminiFormat) turn(parts []string) string { return geminiContent("model", parts) }
