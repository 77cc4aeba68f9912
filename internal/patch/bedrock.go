package patch

import (
	"strings"

	"streamer/internal/events"
)

// bedrockFormat is a history of Bedrock's Converse API. Its blocks have one member
// each, and the roles alternate.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
type bedrockFormat struct{ plainBlocks }

func bedrock() format {
	blocks := "text image document video audio toolUse toolResult reasoningContent cachePoint guardContent citationsContent searchResult"
	return blockShape{bedrockFormat{plainBlocks{&facts{
		shape: Bedrock, list: "content", resultID: "toolUseId", inResult: "toolResult", server: []string{"server_tool_use"},
		claims: "content:untyped" + inList("content/", blocks), blocks: blocks,
	}}}}
}

// refuseOutput reports the errors that Converse refuses because they have no content. The
// repair does not change real results.
func (bedrockFormat) refuseOutput(h *history) {
	for r := range h.results {
		res := &h.results[r]
		failed := text(member(member(res.raw, "toolResult"), "status")) == "error"
		if res.disposition == answering && failed && isEmpty(res.content) && !strings.HasPrefix(res.content, `"`) {
			h.refused = append(h.refused, Violation{res.message, "empty_error", strings.Clone(res.id)})
		}
	}
}

// runs reports whether consecutive messages of the model become one.
func (bedrockFormat) runs(o Options) bool { return *o.MergeRoles }

func (bedrockFormat) isMark(block string) bool {
	return strings.HasPrefix(member(block, "cachePoint"), "{")
}

func (bedrockFormat) readBlock(h *history, m, n int, block string) (signed bool) {
	for name, v := range members(block) {
		switch name {
		case "toolUse":
			readToolUse(h, m, n, v)
		case "reasoningContent":
			signed = text(member(member(v, "reasoningText"), "signature")) != "" || text(member(v, "redactedContent")) != ""
		}
	}
	return signed
}

// readToolUse reads the call in block n of a message. The provider executes a call
// that has a type and writes its result into the model's message.
func readToolUse(h *history, m, n int, use string) {
	if !strings.HasPrefix(use, "{") {
		return
	}
	c := callIn(use, "toolUseId", "name", "input")
	c.at = n
	server := text(member(use, "type")) != ""
	if server && c.id == "" {
		h.refuse(m, `a call without "toolUseId"`)
	}
	if server {
		h.hosted[c.id] = true
		return
	}
	delete(h.hosted, c.id)
	c.checkObjectArgs()
	h.addCall(m, c)
}

func (bedrockFormat) serverCall(block string) (id, name string, ok bool) {
	use := member(block, "toolUse")
	return text(member(use, "toolUseId")), text(member(use, "name")), text(member(use, "type")) != ""
}

func (bedrockFormat) serverAnswer(block string) string {
	return text(member(member(block, "toolResult"), "toolUseId"))
}

// serverError returns a result of the type that Amazon's own tools have: nova_grounding_result.
func (f bedrockFormat) serverError(h *history, block string) string {
	id, name, _ := f.serverCall(block)
	reason := h.syntheticText(events.TextInterrupted, name, id, "")
	return `{"toolResult":{"toolUseId":` + quote(id) + `,"content":[` + f.text(quote(reason)) + `],"status":"error","type":` + quote(name+"_result") + `}}`
}

func (bedrockFormat) isCall(block string) bool {
	return strings.HasPrefix(member(block, "toolUse"), "{")
}

func (bedrockFormat) readResult(n int, block string) (result, bool) {
	r, v, kind := result{block: n, raw: block}, member(block, "toolResult"), ""
	scan(v, to{"toolUseId", &r.idText}, to{"content", &r.content}, to{"type", &kind})
	r.id = text(r.idText)
	return r, strings.HasPrefix(v, "{") && text(kind) == ""
}

func (bedrockFormat) call(c *call, block string) string {
	return editMember(block, "toolUse", func(use string) string { return c.rewritten(use, "toolUseId", "name", "input") })
}

func (f bedrockFormat) message(c *call) string { return f.results(nil, 0, []string{f.synthetic(c)}) }

func (f bedrockFormat) synthetic(c *call) string {
	content := c.content
	if strings.HasPrefix(content, `"`) {
		content = list([]string{f.text(content)})
	}
	if c.isError {
		content += `,"status":"error"`
	}
	return `{"toolResult":{"toolUseId":` + c.finalIDText() + `,"content":` + content + `}}`
}

// content returns a result as the content of a new result: an object becomes JSON
// and any other value text.
func (bedrockFormat) content(value string) string {
	value = strings.TrimSpace(value)
	blocks := each(value, func(b string) bool { return onlyMember(b, "text json image document video searchResult") })
	switch {
	case blocks, strings.HasPrefix(value, `"`):
		return value
	case strings.HasPrefix(value, "{"):
		return `[{"json":` + value + `}]`
	}
	return quote(value)
}

func onlyMember(block, names string) bool {
	n := 0
	for name := range members(block) {
		n++
		if !oneOf(name, names) {
			return false
		}
	}
	return n == 1
}

func (f bedrockFormat) adopt(r *result) (call, result string) {
	return `{"toolUse":{"toolUseId":` + quote(r.changedID) + `,"name":"unknown","input":{}}}`, f.withID(r.raw, r.changedID)
}

func (bedrockFormat) text(quoted string) string { return `{"text":` + quoted + `}` }

func (f bedrockFormat) note(h *history, r *result) []string {
	blocks := []string{f.text(quote(h.noteHead(r)))}
	if r.content == "" {
		blocks = append(blocks, f.text(quote(r.raw)))
	}
	for _, b := range elements(r.content) {
		if !onlyMember(b, "text image document video searchResult") {
			b = f.text(quote(b))
		}
		blocks = append(blocks, b)
	}
	return blocks
}
