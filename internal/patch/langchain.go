package patch

import (
	"slices"
	"strings"
)

// langchainFormat is a history of LangChain's messages, in one of three forms:
// flat ({"type":"ai","content",…}), as messages_to_dict writes them
// ({"type","data":{…}}), and as dumps does ({"lc":1,"id":[…],"kwargs":{…}}):
// https://python.langchain.com/api_reference/core/messages.html
type langchainFormat struct{}

// invalid is the kind of a call that LangChain could not parse.
const invalid = "invalid"

func (langchainFormat) shape() Shape { return LangChain }

func (langchainFormat) claims(l look) bool {
	return l.lc || l.role == "" && langchainRole(l.kind) != other ||
		l.role == "" && oneOf(l.kind, "system developer function remove chat SystemMessage FunctionMessage RemoveMessage ChatMessage")
}

// langchainRole gives the role of a message type or class.
func langchainRole(kind string) role {
	switch strings.TrimSuffix(kind, "Chunk") {
	case "ai", "AIMessage", "assistant":
		return assistant
	case "human", "HumanMessage", "user":
		return user
	case "tool", "ToolMessage":
		return tool
	}
	return other
}

func (langchainFormat) fits(*call, *result) bool { return true }

func (langchainFormat) named(*call) bool { return true }

func (langchainFormat) onlyResults(h *history, m int) bool { return h.role[m] == tool }

// langchainMessage is a message in any of the forms.
type langchainMessage struct {
	kind   string // its type, or its class
	inner  string // the member that holds the fields: "", "data" or "kwargs"
	fields string
}

func langchainBody(raw string) langchainMessage {
	m := langchainMessage{fields: raw}
	class := ""
	for name, v := range members(raw) {
		switch {
		case name == "type":
			m.kind = text(v)
		case name == "data" && v[0] == '{', name == "kwargs" && v[0] == '{':
			m.inner, m.fields = name, v
		case name == "id" && v[0] == '[':
			for _, part := range elements(v) {
				class = text(part)
			}
		}
	}
	if m.inner == "kwargs" {
		m.kind = class
	}
	return m
}

func (f langchainFormat) read(h *history, m int) {
	body := langchainBody(h.at(m))
	switch h.role[m] = langchainRole(body.kind); h.role[m] {
	case assistant:
		f.readTurn(h, m, body)
	case tool:
		h.addResult(m, langchainResult(body.fields))
	}
}

func langchainResult(fields string) result {
	var r result
	for name, v := range members(fields) {
		switch name {
		case "tool_call_id":
			r.id = text(v)
		case "name":
			r.name = text(v)
		case "content":
			r.content = v
		case "additional_kwargs":
			r.fake = member(v, marker) != ""
		}
	}
	return r
}

// marker is the field by which a synthetic result is known.
const marker = "synthetic_tool_result"

// readTurn reads the calls of a message from all places where they are shown:
// one call may be in several.
func (langchainFormat) readTurn(h *history, m int, body langchainMessage) {
	t := h.addTurn(m)
	var seen langchainViews
	for name, v := range members(body.fields) {
		switch name {
		case "tool_calls":
			seen.calls = v
		case "invalid_tool_calls":
			seen.invalid = v
		case "content":
			seen.content = v
		case "additional_kwargs":
			seen.raw = member(v, "tool_calls")
			t.signed = t.signed || signedBlocks(member(v, "thinking_blocks"))
		}
	}
	t.signed = t.signed || signedContent(seen.content)
	for _, c := range seen.read() {
		h.addCall(m, c)
	}
}

// signedContent tells whether content holds reasoning that is signed.
func signedContent(content string) bool {
	for _, b := range elements(content) {
		signed := false
		for name, v := range members(b) {
			switch name {
			case "type":
				signed = signed || text(v) == "redacted_thinking"
			case "signature":
				signed = signed || text(v) != ""
			case "reasoning_content", "extras":
				signed = signed || text(member(v, "signature")) != ""
			}
		}
		if signed && oneOf(text(member(b, "type")), "thinking redacted_thinking reasoning_content reasoning") {
			return true
		}
	}
	return false
}

// langchainViews are the places of a message that show its calls.
type langchainViews struct{ calls, invalid, content, raw string }

// read gives the calls of all views: the nth call of an id in one view is the
// nth of that id in another.
func (v langchainViews) read() []call {
	var m merged
	for _, e := range elements(v.calls) {
		c := langchainCall(e, "args", true)
		if !c.broken && strings.HasPrefix(c.args, `"`) && c.args2 != "{}" {
			c.args2 = "" // LangChain's own adapters read the text of an object
		}
		m.add(viewCalls, c)
	}
	for _, e := range elements(v.invalid) {
		c := langchainCall(e, "args", false)
		c.kind, c.broken = invalid, true
		m.add(viewInvalid, c)
	}
	for _, e := range elements(v.content) {
		if c, ok := langchainBlock(e); ok {
			m.add(viewContent, c)
		}
	}
	for n, e := range elements(v.raw) {
		m.add(viewRaw, openAICall(n, e))
	}
	return m.calls
}

// merged are the calls of a message, each once.
type merged struct {
	calls []call
	byID  map[string][]int // where there are many
	seen  map[viewed]int
}

type viewed struct {
	view int
	id   string
}

// few calls are searched through; many are looked up.
const few = 16

func (m *merged) add(view int, c call) {
	// The valid calls and the invalid ones are not the same: only the other
	// views show what is in these.
	if view == viewContent || view == viewRaw {
		if i := m.find(view, c.id); i >= 0 {
			m.calls[i].view |= view
			return
		}
	}
	c.at, c.view = len(m.calls), view
	if m.calls = append(m.calls, c); m.byID != nil {
		m.byID[c.id] = append(m.byID[c.id], c.at)
	}
}

func (m *merged) find(view int, id string) int {
	if len(m.calls) <= few {
		return slices.IndexFunc(m.calls, func(c call) bool { return c.id == id && c.view&view == 0 })
	}
	if m.byID == nil {
		m.byID, m.seen = map[string][]int{}, map[viewed]int{}
		for i, c := range m.calls {
			m.byID[c.id] = append(m.byID[c.id], i)
			for _, bit := range []int{viewContent, viewRaw} {
				if c.view&bit != 0 {
					m.seen[viewed{bit, c.id}]++
				}
			}
		}
	}
	k := viewed{view, id}
	n := m.seen[k]
	m.seen[k]++
	if n < len(m.byID[id]) {
		return m.byID[id][n]
	}
	return -1
}

// The views of a call, as bits.
const (
	viewCalls = 1 << iota
	viewInvalid
	viewContent
	viewRaw
)

// langchainCall reads a call whose args are an object.
func langchainCall(raw, args string, object bool) call {
	var c call
	for name, v := range members(raw) {
		switch name {
		case "id":
			c.id, c.idText = text(v), v
		case "name":
			c.name = text(v)
		case args:
			c.args = v
		}
	}
	if object {
		c.judgeObject()
	}
	return c
}

// langchainBlock reads a block of content that is a call.
func langchainBlock(raw string) (call, bool) {
	switch text(member(raw, "type")) {
	case "tool_use":
		return langchainCall(raw, "input", true), true
	case "tool_call":
		return langchainCall(raw, "args", true), true
	case "invalid_tool_call":
		c := langchainCall(raw, "args", false)
		c.kind, c.broken = invalid, true
		return c, true
	case "function_call":
		c := langchainCall(raw, "arguments", false)
		c.idText = member(raw, "call_id")
		c.id = text(c.idText)
		c.judge()
		return c, true
	}
	return call{}, false
}

// judgeObject looks at args that have to be an object; one that is the text of
// an object becomes that.
func (c *call) judgeObject() {
	if strings.HasPrefix(c.args, "{") {
		return
	}
	c.args2 = "{}"
	if !strings.HasPrefix(c.args, `"`) {
		return
	}
	inner := strings.TrimSpace(text(c.args))
	switch {
	case !isJSON(c.args):
		c.broken = inner != "" && inner != "null"
	case strings.HasPrefix(inner, "{"):
		c.args2 = inner
	}
}

func (f langchainFormat) patched(h *history, m int, calls []call) string {
	raw := h.at(m)
	body := langchainBody(raw)
	if body.inner == "" {
		return langchainPatched(raw, calls, h.o.Invalid == "convert")
	}
	return inside(raw, body.inner, func(fields string) string {
		return langchainPatched(fields, calls, h.o.Invalid == "convert")
	})
}

func langchainPatched(fields string, calls []call, convert bool) string {
	converted := langchainConverted(calls, convert)
	fields = edited(fields, func(name, v string) string {
		switch name {
		case "tool_calls":
			return withElements(langchainList(v, calls, viewCalls), converted)
		case "invalid_tool_calls":
			if len(converted) > 0 {
				return "[]"
			}
			return langchainList(v, calls, viewInvalid)
		case "content":
			return langchainList(v, calls, viewContent)
		case "additional_kwargs":
			return inside(v, "tool_calls", func(list string) string { return langchainList(list, calls, viewRaw) })
		}
		return v
	})
	if len(converted) > 0 && member(fields, "tool_calls") == "" {
		fields = with(fields, "tool_calls", list(converted))
	}
	return fields
}

// langchainConverted gives the invalid calls as valid ones.
func langchainConverted(calls []call, convert bool) []string {
	var out []string
	for _, c := range calls {
		if convert && c.kind == invalid && c.dropped == "" && c.view&viewInvalid != 0 {
			out = append(out, `{"name":`+quote(c.newName())+`,"args":{},"id":`+c.newIDText()+`,"type":"tool_call"}`)
		}
	}
	return out
}

// withElements gives a list with more elements behind those it has.
func withElements(array string, more []string) string {
	if len(more) == 0 {
		return array
	}
	var all []string
	for _, e := range elements(array) {
		all = append(all, e)
	}
	return list(slices.Concat(all, more))
}

// langchainList changes the calls in one of their views.
func langchainList(array string, calls []call, view int) string {
	queues := map[string][]int{}
	for i := range calls {
		if calls[i].view&view != 0 {
			queues[calls[i].id] = append(queues[calls[i].id], i)
		}
	}
	return each(array, func(_ int, element string) (string, bool) {
		id, ok := langchainID(element, view)
		queue := queues[id]
		if !ok || len(queue) == 0 {
			return element, true
		}
		queues[id] = queue[1:]
		c := calls[queue[0]]
		if c.view != view && view != viewCalls || c.kind == invalid && view != viewRaw {
			c.args2 = "" // another view has the args
		}
		if c.dropped != "" {
			return "", false
		}
		return langchainElement(&c, element, view), true
	})
}

// langchainID gives the id of a call in a view.
func langchainID(element string, view int) (string, bool) {
	if view != viewContent {
		return text(member(element, "id")), true
	}
	c, ok := langchainBlock(element)
	return c.id, ok
}

// langchainElement writes a call in a view.
func langchainElement(c *call, element string, view int) string {
	if view == viewRaw {
		return openAIPatched(c, element)
	}
	if c.id2 != "" {
		field := "id"
		if view == viewContent && member(element, "call_id") != "" {
			field = "call_id"
		}
		element = with(element, field, quote(c.id2))
	}
	if c.name2 != "" {
		element = with(element, "name", quote(c.name2))
	}
	if c.args2 != "" {
		element = with(element, argsField(element), c.args2)
	}
	return element
}

// argsField is the field of a content block that holds the args.
func argsField(block string) string {
	switch text(member(block, "type")) {
	case "tool_use":
		return "input"
	case "function_call":
		return "arguments"
	}
	return "args"
}

func (f langchainFormat) render(h *history) { h.renderFlat(f) }

func (langchainFormat) result(h *history, r *result) string {
	raw := h.at(r.message)
	if id := h.calls[r.call].newID(); id != r.id {
		return langchainWith(raw, "tool_call_id", quote(id))
	}
	return raw
}

// langchainWith sets a field of a message, in whatever form.
func langchainWith(raw, field, value string) string {
	if body := langchainBody(raw); body.inner != "" {
		return inside(raw, body.inner, func(fields string) string { return with(fields, field, value) })
	}
	return with(raw, field, value)
}

func (langchainFormat) synthetic(h *history, c *call) string {
	fields := `"type":"tool","content":` + c.content + `,"tool_call_id":` + c.newIDText()
	if name := c.newName(); name != "" {
		fields += `,"name":` + quote(name)
	}
	if c.isError {
		fields += `,"status":"error"`
	}
	if c.reason != "given" && c.reason != "log" {
		fields += `,"additional_kwargs":{"` + marker + `":` + quote(c.reason) + `}`
	}
	return langchainNew(h.at(c.message), "tool", "ToolMessage", fields)
}

func (langchainFormat) userText(h *history, m int, content string) string {
	return langchainNew(h.at(m), "human", "HumanMessage", `"type":"human","content":`+content)
}

func (langchainFormat) adopt(h *history, r *result) []string {
	id := adoptedID(r)
	raw := h.at(r.message)
	call := `{"name":` + quote(adoptedName(r)) + `,"args":{},"id":` + quote(id) + `,"type":"tool_call"}`
	return []string{
		langchainNew(raw, "ai", "AIMessage", `"type":"ai","content":"","tool_calls":[`+call+`],"invalid_tool_calls":[]`),
		langchainWith(raw, "tool_call_id", quote(id)),
	}
}

// langchainNew writes a message in the form that another one has.
func langchainNew(like, kind, class, fields string) string {
	switch langchainBody(like).inner {
	case "data":
		return `{"type":"` + kind + `","data":{` + fields + `}}`
	case "kwargs":
		path := []string{}
		for _, part := range elements(member(like, "id")) {
			path = append(path, part)
		}
		if len(path) > 0 {
			path[len(path)-1] = quote(class)
		}
		return `{"lc":1,"type":"constructor","id":` + list(path) + `,"kwargs":{` + fields + `}}`
	}
	return `{` + fields + `}`
}
