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
}

func (u *update) read(v jsonscan.Value) {
	u.whole = v
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "sessionUpdate":
			u.kind = m.Value
		case "messageId":
			u.message = m.Value
		case "content":
			u.content = m.Value
		case "state":
			u.state = m.Value
		case "stopReason":
			u.stop = m.Value
		case "toolCallId":
			u.call = m.Value
		case "title":
			u.title = m.Value
		case "kind":
			u.toolKind = m.Value
		case "status":
			u.status = m.Value
		case "rawInput":
			u.input = m.Value
		case "rawOutput":
			u.output = m.Value
		case "_meta":
			claude := m.Value.Member("claudeCode")
			u.name, u.parent = claude.Member("toolName"), claude.Member("parentToolUseId")
		}
	}
}

// update emits the chunks of an update. Kinds without a part in the conversation are
// ignored: plans, modes, commands and the use of the context.
func (r reader) update(v jsonscan.Value) *wire.Problem {
	var u update
	u.read(v)
	if len(r.d.Loads) > 0 {
		return nil // history
	}
	asking := r.d.Asking
	r.d.Asking = false
	switch u.kind.Str {
	case "user_message_chunk":
		r.humanPiece(&u, asking)
	case "user_message":
		r.human(&u, r.PlainText(u.content))
	case "agent_message_chunk":
		r.content(chunks.Text, &u)
	case "agent_thought_chunk":
		r.content(chunks.Reasoning, &u)
	case "agent_message":
		r.whole(chunks.Text, &u)
	case "agent_thought":
		r.whole(chunks.Reasoning, &u)
	case "tool_call":
		return r.call(&u, true)
	case "tool_call_update":
		return r.call(&u, false)
	case "tool_call_content_chunk":
		r.callContent(&u)
	case "state_update":
		r.state(&u)
	case "plan", "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update":
	default:
		r.Unknown("session/update", u.kind.Str, v)
	}
	return nil
}

// humanPiece emits a piece of a human message. goesOn states that the update before it
// was one too.
func (r reader) humanPiece(u *update, goesOn bool) {
	id, text := r.Text(u.message), r.Text(u.content.Member("text"))
	if !goesOn || wire.Keep(id) != r.d.Asked {
		r.human(u, "")
	}
	r.d.Asking, r.d.Asked = true, wire.Keep(id)
	if text != "" && len(r.d.Prompts) == 0 {
		r.Emit(chunks.Chunk{Kind: chunks.HumanText, ID: id, Text: text})
	}
}

// human emits a human message. An agent that answers a prompt repeats it, and the
// prompt has its text.
func (r reader) human(u *update, text string) {
	c := chunks.Chunk{Kind: chunks.Human, ID: r.Text(u.message), Text: text}
	if len(r.d.Prompts) > 0 {
		c.Text = ""
	}
	r.Emit(c)
}

func (r reader) content(kind chunks.Kind, u *update) {
	if s := r.Text(u.content.Member("text")); s != "" {
		r.begin(r.messageOf(kind, u))
		r.write(kind, s)
	}
}

// whole emits the content of a message that comes as a whole, unless it was streamed.
func (r reader) whole(kind chunks.Kind, u *update) {
	id := r.messageOf(kind, u)
	if r.d.Open && r.d.Message == id && (r.d.Written || r.d.Part > 0) {
		return
	}
	for e := u.content.Elements(); e.Next(); {
		if s := r.Text(e.Value.Member("text")); s != "" {
			r.begin(id)
			r.write(kind, s)
		}
	}
}

func (r reader) write(kind chunks.Kind, text string) {
	r.d.Written = true
	c := r.d.chunk(kind)
	c.Part, c.Text = r.d.Part, text
	r.Emit(c)
}

// messageOf returns the id of the message that content belongs to, or "" where it is the
// open one. Thoughts with an id of their own belong to the open message.
func (r reader) messageOf(kind chunks.Kind, u *update) string {
	if kind == chunks.Reasoning && r.d.Open && !r.d.Answered {
		return r.d.Message
	}
	return r.Text(u.message)
}

func (r reader) begin(id string) {
	d := r.d
	if d.Open && (id == "" && !d.Answered || id != "" && wire.Keep(id) == d.Message) {
		return
	}
	// A message with calls whose args may still come ends with the run.
	ends := !d.running(true)
	if d.Open && ends {
		r.Emit(d.chunk(chunks.Finish))
		r.Emit(d.chunk(chunks.Ended))
		for i := range d.Calls {
			d.Calls[i].Past = true
		}
	}
	d.Run, d.Open, d.Answered, d.Part, d.Written, d.Message = true, true, false, 0, false, wire.Keep(id)
	c := d.chunk(chunks.Start)
	c.Role, c.Fresh = "assistant", ends
	r.Emit(c)
}
