package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// A LangChain message has one of these shapes. A piece of a message differs from a
// whole message by tool_call_chunks, or by the name AIMessageChunk:
//
//	{"type":"AIMessageChunk","content","tool_call_chunks",…}    the server of Python; that of JavaScript has "ai"
//	{"lc":1,"type":"constructor","id":[…,"AIMessageChunk"],"kwargs":{…}}
//	{"type":"AIMessageChunk","data":{…}}

type messageKind uint8

const (
	kindNone    messageKind = iota // no message
	kindOther                      // of the system, a removal and others
	kindAI                         // whole
	kindAIChunk                    // a piece of a message
	kindTool
	kindHuman
)

type fields struct {
	kind  messageKind
	class string // AIMessageChunk, ai…
	body  jsonscan.Value

	id, content, pieces, calls, invalid, extra, meta, usage, position jsonscan.Value
}

func readMessage(v jsonscan.Value) fields {
	m, inner := readFields(v)
	if inner.Raw != "" {
		class := m.class
		if class == "constructor" {
			class = wire.LastOf(m.id).Str
		}
		m, _ = readFields(inner)
		m.class = class
	}
	m.kind = kindOf(m.class)
	if m.kind == kindAI && m.pieces.IsArray() {
		m.kind = kindAIChunk
	}
	return m
}

// readFields returns the members of a message, and the inner object that contains the
// members instead, if there is one.
func readFields(v jsonscan.Value) (m fields, inner jsonscan.Value) {
	m.body = v
	var class, kwargs, data jsonscan.Value
	v.Read(
		class.From("type"), kwargs.From("kwargs"), data.From("data"), m.id.From("id"), m.content.From("content"),
		m.pieces.From("tool_call_chunks"), m.calls.From("tool_calls"), m.invalid.From("invalid_tool_calls"),
		m.extra.From("additional_kwargs"), m.meta.From("response_metadata"), m.usage.From("usage_metadata"),
		m.position.From("chunk_position"),
	)
	m.class = class.Str
	switch {
	case data.IsObject():
		inner = data
	case kwargs.IsObject():
		inner = kwargs
	}
	return m, inner
}

func (d *decoder) unknownMembers(w *wire.Writer, m *fields) {
	w.UnknownMembers("the message", m.body, "content", "content_blocks", "tool_call_chunks", "tool_calls", "invalid_tool_calls", "additional_kwargs", "response_metadata", "usage_metadata", "kwargs", "data", "lc_kwargs")
}

func kindOf(name string) messageKind {
	switch name {
	case "ai", "AIMessage":
		return kindAI
	case "AIMessageChunk", "ChatMessageChunk":
		return kindAIChunk
	case "tool", "ToolMessage", "ToolMessageChunk":
		return kindTool
	case "human", "HumanMessage", "HumanMessageChunk":
		return kindHuman
	case "system", "chat", "function", "remove", "developer":
		return kindOther
	}
	if strings.HasSuffix(name, "Message") || strings.HasSuffix(name, "MessageChunk") {
		return kindOther
	}
	return kindNone
}

func looksLikeMessage(v jsonscan.Value) bool {
	some, _ := messageOf(v)
	return some
}

// messageOf reports whether v is a message, and whether no other format has such a
// message. It reads no more members than it needs.
func messageOf(v jsonscan.Value) (some, own bool) {
	var s signs
	for m := v.Members(); m.Next() && !s.decide(m.Key, &m.Value); {
	}
	return s.kind && s.content, s.own
}

func isMessage(f wire.Frame) bool {
	var s signs
	for m := f.Members(); m.Next() && !s.decide(m.Key, &m.Value); {
	}
	return s.kind && s.content
}

// signs is what the members of an object so far show: an object with the type of a
// message and a content is a message. With own, no other format has such a message.
type signs struct{ kind, content, own, constructor bool }

// decide adds a member and reports whether no other one matters.
func (s *signs) decide(key string, v *jsonscan.Value) bool {
	switch key {
	case "lc":
		s.constructor = v.Kind == jsonscan.Number
	case "id":
		if s.constructor { // of a message, or of any other object of LangChain
			return s.set(kindOf(wire.LastOf(*v).Str) != kindNone)
		}
	case "tool_call_chunks":
		return s.set(v.IsArray())
	case "parentUuid": // of a session file of Claude Code
		return s.set(false)
	case "type":
		s.kind = kindOf(v.Str) != kindNone
		class := strings.Contains(v.Str, "Message")
		if class && !s.kind {
			return s.set(false)
		}
		s.own = s.own || class
	case "content":
		s.content = v.IsString() || v.IsArray()
	case "data":
		s.content = v.Member("content").Present()
	case "additional_kwargs", "response_metadata", "tool_call_id":
		s.own = true
	}
	return s.kind && s.content && s.own
}

// set decides whether the object is a message of LangChain alone.
func (s *signs) set(is bool) (decided bool) {
	s.kind, s.content, s.own = is, is, is
	return true
}

type messageEnd struct {
	over      bool
	reason    string
	truncated bool
	wait      uint8 // as in chunks.Chunk
	restated  chunks.Restating
	choice    int
	thoughts  jsonscan.Value // additional_kwargs.reasoning_content
}

// readEnd returns the end in response_metadata and additional_kwargs.
func (d *decoder) readEnd(w *wire.Writer, m *fields) (end messageEnd) {
	var reason, stop, status, choice jsonscan.Value
	m.meta.Read(
		reason.From("finish_reason"), stop.From("stop_reason"), stop.From("stopReason"), stop.From("done_reason"),
		status.From("status"), choice.From("completion"), // the number of the choice, in JavaScript
	)
	m.extra.Read(stop.From("stop_reason"), end.thoughts.From("reasoning_content"))
	if choice.Present() {
		end.choice = choice.Int()
	}
	for _, v := range [...]jsonscan.Value{reason, stop} {
		if end.reason == "" && v.IsString() {
			end.reason = w.Text(v)
		}
	}
	if end.reason == "" {
		switch status.Str {
		case "completed", "incomplete", "failed", "cancelled":
			end.reason = status.Str
		}
	}
	end.over = end.reason != "" || m.position.Str == "last"
	end.truncated = truncates(end.reason)
	return end
}

// truncates reports whether a finish reason means that the answer is incomplete.
// LangChain passes on the reasons of all providers.
func truncates(reason string) bool {
	if wire.Truncates(reason) || wire.AnthropicTruncates(reason) {
		return true
	}
	switch reason {
	case "incomplete", "failed", "cancelled", "MAX_TOKENS", "SAFETY", "RECITATION":
		return true
	}
	return wire.Discards(reason)
}

func (d *decoder) resultMessage(w *wire.Writer, at place, m *fields) *wire.Problem {
	return w.ToolResult(chunks.Chunk{Namespace: at.ns, Repeated: at.repeated}, wire.ReadResult(m.body))
}

// human emits a human message of the conversation. The task of a subgraph is a human
// message too, but no person wrote it, and it does not interrupt anything.
func (d *decoder) human(w *wire.Writer, at place, m *fields) {
	if strings.Contains(at.ns, "|") || at.repeated && at.ns != "" {
		return
	}
	w.Emit(chunks.Chunk{Kind: chunks.Human, Namespace: at.ns, ID: w.Text(m.id), Text: w.PlainText(m.content), Repeated: at.repeated})
}
