package patch

import "strings"

// langchainFormat is a history of LangChain's messages, in one of three forms:
// flat ({"type":"ai","content",…}), as messages_to_dict writes them
// ({"type","data":{…}}), and as dumps does ({"lc":1,"id":[…],"kwargs":{…}}):
// https://python.langchain.com/api_reference/core/messages.html
type langchainFormat struct{}

// invalid is the kind of a call that LangChain could not parse.
const invalid = "invalid"

func (langchainFormat) shape() Shape { return LangChain }

func (langchainFormat) claims(l traits) bool {
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

func (langchainFormat) canAnswer(*call, *result) bool { return true }

func (langchainFormat) hasName(*call) bool { return true }

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
	case user:
		if strings.Contains(body.fields, `"tool_result"`) {
			h.answerInside(member(body.fields, "content"))
		}
	}
}

// answerInside looks for results among the blocks of a user's message, where
// Anthropic's adapter takes them too. They are left as they are: the calls of
// the turn in front need no others.
func (h *history) answerInside(content string) {
	if len(h.turns) == 0 {
		return
	}
	t := h.turns[len(h.turns)-1]
	ids := map[string]bool{}
	for n, b := range elements(content) {
		if r, ok := anthropicResult(n, b); ok {
			ids[r.id] = true
		}
	}
	for c := t.from; c < t.to; c++ {
		h.calls[c].answeredInside = h.calls[c].answeredInside || h.calls[c].id != "" && ids[h.calls[c].id]
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
			r.placeholder = member(v, marker) != ""
		}
	}
	return r
}

// marker is the field by which a synthetic result is known.
const marker = "synthetic_tool_result"
