package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// A LangChain message has one of these shapes; that of a message in the
// middle of a stream differs from a whole one by tool_call_chunks, or by its
// name where that is said in full:
//
//	{"type":"AIMessageChunk","content","tool_call_chunks",…}    Python's server; JavaScript's says "ai"
//	{"lc":1,"type":"constructor","id":[…,"AIMessageChunk"],"kwargs":{…}}
//	{"type":"AIMessageChunk","data":{…}}

type langKind uint8

const (
	langNone  langKind = iota // no message
	langOther                 // of the system, a removal…
	langAI                    // whole
	langChunk                 // a piece of one
	langTool
	langHuman
)

// langFields are the members of a message that matter.
type langFields struct {
	kind  langKind
	class string // AIMessageChunk, ai…
	body  jsonscan.Value

	id, content, pieces, calls, invalid, extra, meta, usage, position jsonscan.Value
}

// readLangMessage reads a message in any of its shapes.
func readLangMessage(v jsonscan.Value) langFields {
	m, inner := langMembers(v)
	if inner.Raw != "" {
		class := m.class
		if class == "constructor" {
			class = wire.LastOf(m.id).Str
		}
		m, _ = langMembers(inner)
		m.class = class
	}
	m.kind = langClass(m.class)
	if m.kind == langAI && m.pieces.IsArray() {
		m.kind = langChunk
	}
	return m
}

// langMembers reads the members of a message, and gives the object that has
// them in its stead, if there is one.
func langMembers(v jsonscan.Value) (m langFields, inner jsonscan.Value) {
	m.body = v
	for w := v.Members(); w.Next(); {
		switch w.Key {
		case "type":
			m.class = w.Value.Str
		case "kwargs", "data":
			if w.Value.IsObject() {
				inner = w.Value
			}
		case "id":
			m.id = w.Value
		case "content":
			m.content = w.Value
		case "tool_call_chunks":
			m.pieces = w.Value
		case "tool_calls":
			m.calls = w.Value
		case "invalid_tool_calls":
			m.invalid = w.Value
		case "additional_kwargs":
			m.extra = w.Value
		case "response_metadata":
			m.meta = w.Value
		case "usage_metadata":
			m.usage = w.Value
		case "chunk_position":
			m.position = w.Value
		}
	}
	return m, inner
}

func langClass(name string) langKind {
	switch name {
	case "ai", "AIMessage":
		return langAI
	case "AIMessageChunk", "ChatMessageChunk":
		return langChunk
	case "tool", "ToolMessage", "ToolMessageChunk":
		return langTool
	case "human", "HumanMessage", "HumanMessageChunk":
		return langHuman
	case "system", "chat", "function", "remove", "developer":
		return langOther
	}
	if strings.HasSuffix(name, "Message") || strings.HasSuffix(name, "MessageChunk") {
		return langOther
	}
	return langNone
}

// looksLangMessage tells a message from any other object, as soon as it can.
func looksLangMessage(v jsonscan.Value) bool {
	var kind, content, own bool
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "lc":
			return m.Value.Kind == jsonscan.Number
		case "tool_call_chunks":
			return m.Value.IsArray()
		case "type":
			kind = langClass(m.Value.Str) != langNone
			if own = strings.Contains(m.Value.Str, "Message"); own && !kind {
				return false
			}
		case "content":
			content = m.Value.IsString() || m.Value.IsArray()
		case "data":
			content = m.Value.Member("content").Present()
		case "additional_kwargs", "response_metadata", "tool_call_id":
			own = true
		}
		if kind && content && own {
			return true
		}
	}
	return kind && content
}

// langEnd is how a message says that it is over.
type langEnd struct {
	over      bool
	reason    string
	truncated bool
	choice    int
	thoughts  jsonscan.Value // additional_kwargs.reasoning_content
}

// langEnding reads response_metadata and additional_kwargs.
func (r reader) langEnding(m *langFields) (end langEnd) {
	var reason, stop, status jsonscan.Value
	for w := m.meta.Members(); w.Next(); {
		switch w.Key {
		case "finish_reason":
			reason = w.Value
		case "stop_reason", "stopReason", "done_reason":
			stop = w.Value
		case "status":
			status = w.Value
		case "completion": // which of n answers, in JavaScript
			end.choice = w.Value.Int()
		}
	}
	for w := m.extra.Members(); w.Next(); {
		switch w.Key {
		case "stop_reason":
			stop = w.Value
		case "reasoning_content":
			end.thoughts = w.Value
		}
	}
	for _, v := range [...]jsonscan.Value{reason, stop} {
		if end.reason == "" && v.IsString() {
			end.reason = r.Text(v)
		}
	}
	if end.reason == "" {
		switch status.Str {
		case "completed", "incomplete", "failed", "cancelled":
			end.reason = status.Str
		}
	}
	end.over = end.reason != "" || m.position.Str == "last"
	end.truncated = langTruncates(end.reason)
	return end
}

// langTruncates knows the words of all providers, which LangChain passes on.
func langTruncates(reason string) bool {
	if wire.Truncates(reason) || wire.AnthropicTruncates(reason) {
		return true
	}
	switch reason {
	case "incomplete", "failed", "cancelled", "MAX_TOKENS", "SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL":
		return true
	}
	return false
}

// langResult emits a ToolMessage.
func (r reader) langResult(at langPlace, m *langFields) *wire.Problem {
	n := r.Len()
	if problem := r.ToolResult(wire.ReadResult(m.body)); problem != nil {
		return problem
	}
	for i := range r.Since(n) {
		c := &r.Since(n)[i]
		c.Namespace, c.Repeated = at.ns, at.repeated
	}
	return nil
}

// langHuman emits a human message of the conversation. What a subgraph is
// given as its task is a human message too, but nobody interrupts by it.
func (r reader) langHuman(at langPlace, m *langFields) {
	if strings.Contains(at.ns, "|") || at.repeated && at.ns != "" {
		return
	}
	r.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: at.ns, ID: r.Text(m.id), Repeated: at.repeated})
}
