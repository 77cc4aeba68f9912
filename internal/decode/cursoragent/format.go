// Package cursoragent reads the output of Cursor's CLI with --output-format stream-json:
// https://cursor.com/docs/cli/reference/output-format
//
//	system{subtype:"init",apiKeySource} → user{message} → thinking{subtype:"delta",text} → assistant{message:{content},model_call_id?}
//	→ tool_call{subtype:"started",call_id,tool_call:{XToolCall:{args}}} → tool_call{subtype:"completed",call_id,tool_call:{XToolCall:{args,result}}}
//	→ result{subtype,is_error}
//
// A process is a run, from init to result. Messages have no ids. Text, thoughts and calls
// with the model_call_id of the open message belong to it. Where one of them has none, the
// first text or call after a result begins the next message. Calls come whole.
//
// Most lines are like those of Claude Code, which always has the id of a message, and
// uuids and tools in its init line.
package cursoragent

import (
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format cursor-agent.
func Format() wire.Format {
	return wire.Format{
		Name: "cursor-agent", Shape: "openai",
		Keys:    []string{"subtype", "session_id"},
		Claims:  claims,
		Console: true,
		New:     func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var l line
	l.read(f)
	sure := false
	switch l.kind.Str {
	case "system":
		sure = IsInit(f)
	case "tool_call":
		sure = l.subtype.IsString() && l.call.IsObject()
	case "thinking":
		sure = l.subtype.IsString() && l.session.IsString()
	case "assistant":
		sure = IsAnswer(l.message, l.session, l.uuid)
	case "result":
		sure = l.subtype.IsString() && l.request.IsString() && !l.uuid.Present()
	}
	if sure || l.kind.IsString() && l.session.IsString() {
		return wire.SurelyIf(sure, wire.IfKnown)
	}
	return wire.No
}

// IsInit reports whether a frame is the first line of this format. The one of Claude Code
// has an apiKeySource too.
func IsInit(f wire.Frame) bool {
	init, source := false, false
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "subtype":
			init = m.Value.Str == "init"
		case "apiKeySource":
			source = m.Value.IsString()
		case "tools", "uuid", "claude_code_version":
			return false
		}
	}
	return init && source
}

// IsAnswer reports whether an assistant line with these members is of this format. The
// messages of Claude Code have ids.
func IsAnswer(message, session, uuid jsonscan.Value) bool {
	return session.IsString() && !uuid.Present() && message.IsObject() && !message.Member("id").Present()
}

type line struct {
	kind, subtype, session, message, text, model, time jsonscan.Value
	id, call                                           jsonscan.Value // of a tool_call
	failed, result, request, uuid                      jsonscan.Value // of a result
}

func (l *line) read(f wire.Frame) {
	f.Read(
		l.kind.From("type"), l.subtype.From("subtype"), l.session.From("session_id"),
		l.message.From("message"), l.text.From("text"), l.model.From("model_call_id"),
		l.time.From("timestamp_ms"), l.id.From("call_id"), l.call.From("tool_call"),
		l.failed.From("is_error"), l.result.From("result"), l.request.From("request_id"),
		l.uuid.From("uuid"),
	)
}

type decoder struct {
	Run      bool     // a process has begun and not ended
	Open     bool     // a message has begun
	Model    string   // its model_call_id
	Answered bool     // a call of the message has its result
	Part     int      // number of the text of the message
	Written  TextKind // what that text is
	Pieces   bool     // it came in pieces, which a whole line repeats
	Calls    wire.IDs // of the calls without a result
}

// TextKind is the kind of the latest text of a message.
type TextKind uint8

// The kinds of texts.
const (
	Nothing TextKind = iota
	Thought
	Answer
)

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Run)
	f.Flag("o", &d.Open)
	f.Text("m", &d.Model)
	f.Flag("a", &d.Answered)
	stored.Number(f, "p", &d.Part)
	stored.Number(f, "w", &d.Written)
	f.Flag("s", &d.Pieces)
	d.Calls.Fields(f, "c")
}

const maxCalls = 256
