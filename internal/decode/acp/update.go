package acp

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type update struct {
	kind, message, content, state, stop          jsonscan.Value
	call, title, toolKind, status, input, output jsonscan.Value
	name, parent                                 jsonscan.Value // that Claude Code adds
	whole                                        jsonscan.Value
	asks                                         bool // it is that of a request for permission
}

func (u *update) read(v jsonscan.Value) {
	u.whole = v
	var meta jsonscan.Value
	v.Read(
		u.kind.From("sessionUpdate"), u.message.From("messageId"), u.content.From("content"), u.state.From("state"),
		u.stop.From("stopReason"), u.call.From("toolCallId"), u.title.From("title"), u.toolKind.From("kind"),
		u.status.From("status"), u.input.From("rawInput"), u.output.From("rawOutput"), meta.From("_meta"),
	)
	claude := meta.Member("claudeCode")
	u.name, u.parent = claude.Member("toolName"), claude.Member("parentToolUseId")
}

// update emits the chunks of an update. Kinds without a part in the conversation are
// ignored: plans, modes, commands and the use of the context.
func (d *decoder) update(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var u update
	u.read(v)
	if len(d.Loads) > 0 {
		return nil // history
	}
	asking := d.Asking
	d.Asking = false
	switch u.kind.Str {
	case "user_message_chunk":
		d.humanPiece(w, &u, asking)
	case "user_message":
		d.human(w, &u, w.PlainText(u.content))
	case "agent_message_chunk":
		d.content(w, chunks.Text, &u)
	case "agent_thought_chunk":
		d.content(w, chunks.Reasoning, &u)
	case "agent_message":
		d.whole(w, chunks.Text, &u)
	case "agent_thought":
		d.whole(w, chunks.Reasoning, &u)
	case "tool_call":
		return d.updateCall(w, &u, true)
	case "tool_call_update":
		return d.updateCall(w, &u, false)
	case "tool_call_content_chunk":
		d.callContent(w, &u)
	case "state_update":
		d.state(w, &u)
	case "plan", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update":
	default:
		w.Unknown("session/update", u.kind.Str, v)
	}
	return nil
}

// humanPiece emits a piece of a human message. goesOn states that the update before it
// was one too.
func (d *decoder) humanPiece(w *wire.Writer, u *update, goesOn bool) {
	id, text := w.Text(u.message), w.Text(u.content.Member("text"))
	if !goesOn || wire.Keep(id) != d.Asked {
		d.human(w, u, "")
	}
	d.Asking, d.Asked = true, wire.Keep(id)
	if text != "" && len(d.Prompts) == 0 {
		w.Emit(chunks.Chunk{Kind: chunks.HumanText, ID: id, Text: text})
	}
}

// human emits a human message. An agent that answers a prompt repeats it, and the
// prompt has its text.
func (d *decoder) human(w *wire.Writer, u *update, text string) {
	c := chunks.Chunk{Kind: chunks.Human, ID: w.Text(u.message), Text: text}
	if len(d.Prompts) > 0 {
		c.Text = ""
	}
	w.Emit(c)
}

func (d *decoder) content(w *wire.Writer, kind chunks.Kind, u *update) {
	if s := w.Text(u.content.Member("text")); s != "" {
		d.begin(w, d.messageOf(w, kind, u))
		d.write(w, kind, s)
	}
}

// whole emits the content of a message that comes as a whole, unless it was streamed.
func (d *decoder) whole(w *wire.Writer, kind chunks.Kind, u *update) {
	id := d.messageOf(w, kind, u)
	if d.Open && d.Message == id && (d.Written || d.Part > 0) {
		return
	}
	for e := u.content.Elements(); e.Next(); {
		if s := w.Text(e.Value.Member("text")); s != "" {
			d.begin(w, id)
			d.write(w, kind, s)
		}
	}
}

func (d *decoder) write(w *wire.Writer, kind chunks.Kind, text string) {
	d.Written = true
	c := d.chunk(kind)
	c.Part, c.Text = d.Part, text
	w.Emit(c)
}

// messageOf returns the id of the message that content belongs to, or "" where it is the
// open one. Thoughts with an id of their own belong to the open message.
func (d *decoder) messageOf(w *wire.Writer, kind chunks.Kind, u *update) string {
	if kind == chunks.Reasoning && d.Open && !d.Answered {
		return d.Message
	}
	return w.Text(u.message)
}

func (d *decoder) begin(w *wire.Writer, id string) {
	if d.Open && (id == "" && !d.Answered || id != "" && wire.Keep(id) == d.Message) {
		return
	}
	// A message with calls whose args may still come ends with the run.
	ends := !d.running(true)
	if d.Open && ends {
		c := d.chunk(chunks.Finish)
		c.Truncated = d.cut()
		w.Emit(c)
		w.Emit(d.chunk(chunks.Ended))
		for i := range d.Calls {
			d.Calls[i].Past = true
		}
	}
	d.Run, d.Open, d.Answered, d.Discarded, d.Part, d.Written, d.Message = true, true, false, false, 0, false, wire.Keep(id)
	c := d.chunk(chunks.Start)
	c.Role, c.Fresh = "assistant", ends
	w.Emit(c)
}
