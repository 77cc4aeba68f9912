// Package claudecode reads the output of Claude Code with --output-format
// stream-json, which is also the message stream of the Claude Agent SDK:
// https://docs.anthropic.com/en/docs/claude-code/sdk/sdk-headless
//
//	system{subtype:"init"} → assistant{message:{id,content:[block]}} …, user{message:{content:[tool_result]}} …
//	→ result{subtype,is_error}; with partial messages also stream_event{event}, whose events are those of package anthropic
//
// Several assistant lines are one message: each has one finished block. With partial
// messages they repeat blocks that were streamed. A result ends a turn, which is a
// run. The lines of a subagent name the call that started it in parent_tool_use_id,
// which is also their namespace.
package claudecode

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/cursoragent"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Format returns the format claude-code.
func Format() wire.Format {
	return wire.Format{
		Name: "claude-code", Shape: "anthropic",
		Keys:      []string{"subtype", "message", "event", "request", "response", "request_id", "uuid"},
		Claims:    claims,
		Console:   true,
		New:       func() wire.Decoder { return new(Decoder) },
		FindSlots: findSlots,
	}
}

// claims claims lines. A line of an unknown type can be of this format if it has a member that most lines have, and no other format surely has it.
func claims(f wire.Frame) wire.Claim {
	var l line
	l.read(f)
	if l.file.IsString() {
		return wire.No // a line of a session file, claude-transcript
	}
	mine, perhaps := false, l.session.IsString() || l.uuid.IsString()
	switch l.kind.Str {
	case "":
		return wire.No
	case "system":
		mine = l.subtype.IsString() && !cursoragent.IsInit(f)
	case "assistant", "user":
		mine = l.message.IsObject() && (l.kind.Str == "user" || !cursoragent.IsAnswer(l.message, l.session, l.uuid))
		if mine && l.parent.Raw == "" && (l.session.Raw == "" || l.kind.Str == "user" && l.uuid.Raw == "") {
			return wire.Perhaps
		}
	case "stream_event":
		mine = l.event.IsObject()
	case "control_request":
		mine = l.request.IsObject()
	case "control_response":
		mine = l.response.IsObject()
	case "control_cancel_request":
		mine = l.requestID.IsString()
	case "result":
		mine = l.subtype.IsString() && (l.uuid.Present() || !l.requestID.Present())
	case "rate_limit_event", "tool_progress", "tool_use_summary":
		mine = l.session.IsString() && l.uuid.IsString()
	}
	if mine || perhaps {
		return wire.SurelyIf(mine, wire.IfNoOther)
	}
	return wire.No
}

type line struct {
	kind, subtype, message, parent, session, uuid jsonscan.Value
	event                                         jsonscan.Value // of a stream_event
	requestID, request, response                  jsonscan.Value // of control lines
	isError, result, errors, terminal, deferred   jsonscan.Value // of a result
	aborted, supersedes                           jsonscan.Value // of an assistant line
	synthetic                                     jsonscan.Value // of a user line that the program wrote
	toolUse, description                          jsonscan.Value // of the progress of a call
	file                                          jsonscan.Value // sessionId, of a session file
}

func (l *line) read(f wire.Frame) {
	f.Read(
		l.kind.From("type"), l.subtype.From("subtype"), l.message.From("message"),
		l.parent.From("parent_tool_use_id"), l.session.From("session_id"), l.uuid.From("uuid"),
		l.event.From("event"), l.requestID.From("request_id"), l.request.From("request"),
		l.response.From("response"), l.isError.From("is_error"), l.result.From("result"),
		l.errors.From("errors"), l.terminal.From("terminal_reason"), l.deferred.From("deferred_tool_use"),
		l.aborted.From("aborted"), l.synthetic.From("isSynthetic"), l.supersedes.From("supersedes"),
		l.toolUse.From("tool_use_id"), l.description.From("description"), l.file.From("sessionId"),
	)
}

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	members := s.Members(at)
	s.Add(members.Get("parent_tool_use_id"), wire.NamespaceSlot)
	for _, key := range [...]string{"session_id", "uuid", "ttft_ms"} {
		s.Add(members.Get(key), wire.Unread)
	}
	note, ok = anthropic.FindSlots(s, wire.Frame{JSON: f.JSON.Member("event")}, members.Get("event"))
	return note, ok && f.Type() == "stream_event"
}

// Fill completes the chunk of a delta, which belongs to the newest message of its
// agent.
func (d *Decoder) Fill(w *wire.Writer, note uint8, c *chunks.Chunk) bool {
	a := d.known(c.Namespace)
	return a.streams() && a.Blocks.Fill(w, note, c)
}
