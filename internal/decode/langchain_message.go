package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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
	body  gjson.Result

	id, content, pieces, calls, invalid, extra, meta, usage, position gjson.Result
}

// readLangMessage reads a message in any of its shapes.
func readLangMessage(v gjson.Result) langFields {
	m, inner := langMembers(v)
	if inner.Raw != "" {
		class := m.class
		if class == "constructor" {
			class = lastOf(m.id).Str
		}
		m, _ = langMembers(inner)
		m.class = class
	}
	m.kind = langClass(m.class)
	if m.kind == langAI && isArray(m.pieces) {
		m.kind = langChunk
	}
	return m
}

// langMembers reads the members of a message, and gives the object that has
// them in its stead, if there is one.
func langMembers(v gjson.Result) (m langFields, inner gjson.Result) {
	m.body = v
	for w := members(v); w.next(); {
		switch w.key {
		case "type":
			m.class = w.value.Str
		case "kwargs", "data":
			if isObject(w.value) {
				inner = w.value
			}
		case "id":
			m.id = w.value
		case "content":
			m.content = w.value
		case "tool_call_chunks":
			m.pieces = w.value
		case "tool_calls":
			m.calls = w.value
		case "invalid_tool_calls":
			m.invalid = w.value
		case "additional_kwargs":
			m.extra = w.value
		case "response_metadata":
			m.meta = w.value
		case "usage_metadata":
			m.usage = w.value
		case "chunk_position":
			m.position = w.value
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
func looksLangMessage(v gjson.Result) bool {
	var kind, content, own bool
	for m := members(v); m.next(); {
		switch m.key {
		case "lc":
			return m.value.Type == gjson.Number
		case "tool_call_chunks":
			return isArray(m.value)
		case "type":
			kind = langClass(m.value.Str) != langNone
			if own = strings.Contains(m.value.Str, "Message"); own && !kind {
				return false
			}
		case "content":
			content = m.value.Type == gjson.String || isArray(m.value)
		case "data":
			content = present(member(m.value, "content"))
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
	thoughts  gjson.Result // additional_kwargs.reasoning_content
}

// langEnding reads response_metadata and additional_kwargs.
func (r *Reader) langEnding(m *langFields) (end langEnd) {
	var reason, stop, status gjson.Result
	for w := members(m.meta); w.next(); {
		switch w.key {
		case "finish_reason":
			reason = w.value
		case "stop_reason", "stopReason", "done_reason":
			stop = w.value
		case "status":
			status = w.value
		case "completion": // which of n answers, in JavaScript
			end.choice = integer(w.value)
		}
	}
	for w := members(m.extra); w.next(); {
		switch w.key {
		case "stop_reason":
			stop = w.value
		case "reasoning_content":
			end.thoughts = w.value
		}
	}
	for _, v := range [...]gjson.Result{reason, stop} {
		if end.reason == "" && isString(v) {
			end.reason = r.text(v)
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
	if truncates(reason) || anthropicTruncates(reason) {
		return true
	}
	switch reason {
	case "incomplete", "failed", "cancelled", "MAX_TOKENS", "SAFETY", "RECITATION", "MALFORMED_FUNCTION_CALL":
		return true
	}
	return false
}

// langResult emits a ToolMessage.
func (r *Reader) langResult(at langPlace, m *langFields) *Problem {
	n := len(r.out)
	if problem := r.toolResult(resultFields(m.body)); problem != nil {
		return problem
	}
	for i := range r.out[n:] {
		c := &r.out[n+i]
		c.Namespace, c.Repeated = at.ns, at.repeated
	}
	return nil
}

// langHuman emits a human message of the conversation. What a subgraph is
// given as its task is a human message too, but nobody interrupts by it.
func (r *Reader) langHuman(at langPlace, m *langFields) {
	if strings.Contains(at.ns, "|") || at.repeated && at.ns != "" {
		return
	}
	r.emit(chunks.Chunk{Kind: chunks.Human, Namespace: at.ns, ID: r.text(m.id), Repeated: at.repeated})
}
