package opencode

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	e := readEvent(f)
	if e.properties.IsObject() {
		return d.serverEvent(w, e.kind.Str, e.properties)
	}
	switch e.kind.Str {
	case "error":
		d.fail(w, d.session(w.Text(e.session)), e.failure)
	case "step_start", "step_finish", "text", "reasoning", "tool_use":
		if !e.part.IsObject() {
			return wire.WrongType("part", e.part, "an object")
		}
		p := readPart(e.part)
		s := d.session(w.Text(e.session))
		s.start(w)
		problem := d.part(w, s, &p)
		if reason := p.reason.Str; e.kind.Str == "step_finish" && reason != "" && reason != "tool-calls" && reason != "unknown" {
			d.end(w, d.session(w.Text(e.session)), "completed", "")
		}
		return problem
	default:
		w.Unknown("line", e.kind.Str, f.JSON)
	}
	return nil
}

func (d *decoder) serverEvent(w *wire.Writer, kind string, v jsonscan.Value) *wire.Problem {
	var session, info, part, delta, status, failure jsonscan.Value
	v.Read(
		session.From("sessionID"), info.From("info"), part.From("part"), delta.From("delta"), status.From("status"), failure.From("error"),
	)
	switch kind {
	case "message.updated":
		d.message(w, info)
	case "message.part.updated":
		if !part.IsObject() {
			return wire.WrongType("properties.part", part, "an object")
		}
		p := readPart(part)
		return d.part(w, d.session(w.Text(p.session)), &p)
	case "message.part.delta":
		d.delta(w, v)
	case "session.created":
		d.session(w.Text(info.Member("id")))
	case "session.status":
		switch s := d.session(w.Text(session)); status.Member("type").Str {
		case "busy":
			s.start(w)
		case "idle":
			d.end(w, s, "completed", "")
		}
	case "session.idle":
		d.end(w, d.session(w.Text(session)), "completed", "")
	case "session.error":
		if s := d.failed(w.Text(session)); s != nil {
			d.fail(w, s, failure)
		}
	case "permission.asked", "permission.updated", "question.asked":
		d.ask(w, kind, v)
	case "permission.replied", "question.replied", "question.rejected":
		d.reply(w, kind, v)
	case "message.removed", "message.part.removed", "permission.v2.asked", "permission.v2.replied":
	default:
		if !wire.HasAnyPrefix(kind, besides[:]...) {
			w.Unknown("event", kind, v)
		}
	}
	return nil
}

// besides are the beginnings of the names of events that are no part of a conversation.
var besides = [...]string{
	"catalog.", "command.", "file.", "global.", "ide.", "installation.", "integration.", "lsp.", "mcp.", "models.", "plugin.", "project.",
	"pty.", "reference.", "server.", "session.", "todo.", "tui.", "vcs.", "workspace.", "worktree.",
}

// failed returns the session of an error, which may not name one.
func (d *decoder) failed(id string) *Session {
	if id != "" {
		return d.session(id)
	}
	if len(d.Sessions) > 0 && d.Sessions[0].Running {
		return &d.Sessions[0]
	}
	return nil
}

// message reads the head of a message. The text of a person comes as a part.
func (d *decoder) message(w *wire.Writer, info jsonscan.Value) {
	var id, session, role jsonscan.Value
	info.Read(id.From("id"), session.From("sessionID"), role.From("role"))
	if s := d.session(w.Text(session)); role.Str == "user" && s.Namespace == "" && !d.Users.Has(w.Text(id)) {
		d.Users.Add(w.Text(id), maxUsers)
	}
}

func (d *decoder) ask(w *wire.Writer, kind string, v jsonscan.Value) {
	var id, tool, call jsonscan.Value
	v.Read(id.From("id"), tool.From("tool"), call.From("callID")) // the latter until 1.0
	if tool.IsObject() {
		call = tool.Member("callID")
	}
	c := chunks.Chunk{Kind: chunks.Await, ID: w.Text(call), Why: "approval", InterruptID: w.Text(id)}
	if kind == "question.asked" {
		c.Why = "input"
	}
	if c.ID != "" {
		w.Emit(c)
	}
}

func (d *decoder) reply(w *wire.Writer, kind string, v jsonscan.Value) {
	var id, reply jsonscan.Value
	v.Read(id.From("requestID"), id.From("permissionID"), reply.From("reply"), reply.From("response"))
	if kind != "question.rejected" && reply.Str != "reject" {
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: w.Text(id), Text: w.Text(reply)})
	}
}
