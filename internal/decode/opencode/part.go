package opencode

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type part struct {
	kind, id, message, session, text, time, synthetic jsonscan.Value
	call, tool, state                                 jsonscan.Value // of a call
	reason, tokens                                    jsonscan.Value // of a step-finish
	whole                                             jsonscan.Value
}

func readPart(v jsonscan.Value) (p part) {
	p.whole = v
	v.Read(
		p.id.From("id"), p.kind.From("type"), p.message.From("messageID"), p.session.From("sessionID"), p.text.From("text"),
		p.time.From("time"), p.synthetic.From("synthetic"), p.call.From("callID"), p.tool.From("tool"), p.state.From("state"),
		p.reason.From("reason"), p.tokens.From("tokens"),
	)
	return p
}

func (d *decoder) part(w *wire.Writer, s *Session, p *part) *wire.Problem {
	message := w.Text(p.message)
	switch p.kind.Str {
	case "text", "reasoning":
		d.text(w, s, message, p)
	case "tool":
		return d.call(w, s, message, p)
	case "step-finish":
		reason := w.Text(p.reason)
		of := chunks.Chunk{Kind: chunks.Finish, Namespace: s.Namespace, Message: message, Reason: reason, Truncated: wire.Truncates(strings.ReplaceAll(reason, "-", "_"))}
		w.Emit(of)
		w.EmitUsage(chunks.Chunk{Namespace: s.Namespace, Message: message}, p.tokens)
	case "step-start":
		w.Emit(chunks.Chunk{Kind: chunks.Start, Namespace: s.Namespace, Message: message, Role: "assistant"})
	case "patch", "snapshot", "file", "agent", "subtask", "retry", "compaction":
	default:
		w.Unknown("part", p.kind.Str, p.whole)
	}
	return nil
}

func (d *decoder) text(w *wire.Writer, s *Session, message string, p *part) {
	if d.Users.Has(message) {
		if p.synthetic.Kind != jsonscan.True && p.kind.Str == "text" {
			w.Emit(chunks.Chunk{Kind: chunks.Human, ID: message, Text: w.Text(p.text), Aside: true})
			d.Users.Remove(message)
		}
		return
	}
	id, text, ended := wire.Keep(w.Text(p.id)), w.Text(p.text), p.time.Member("end").Present()
	at := slices.IndexFunc(d.Parts, func(k Part) bool { return k.ID == id })
	if at < 0 {
		if !s.Running || text == "" && ended {
			return // of a person, or it repeats a part of a message that has ended
		}
		if s.Message != wire.Keep(message) {
			s.Message, s.Part = wire.Keep(message), 0
		}
		d.Parts = append(wire.MakeRoom(d.Parts, maxParts), Part{ID: id, Number: s.Part, Reasoning: p.kind.Str == "reasoning"})
		s.Part++
		at = len(d.Parts) - 1
	}
	k := &d.Parts[at]
	if len(text) > k.Len {
		d.grow(w, s, k, message, text[k.Len:])
	}
	if ended {
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Namespace: s.Namespace, Message: message, Part: k.Number})
		d.Parts = slices.Delete(d.Parts, at, at+1)
	}
}

func (d *decoder) grow(w *wire.Writer, s *Session, k *Part, message, text string) {
	c := chunks.Chunk{Kind: chunks.Text, Namespace: s.Namespace, Message: message, Part: k.Number, Text: text}
	if k.Reasoning {
		c.Kind = chunks.Reasoning
	}
	w.Emit(c)
	k.Len += len(text)
}

func (d *decoder) delta(w *wire.Writer, v jsonscan.Value) {
	var session, message, id, field, delta jsonscan.Value
	v.Read(session.From("sessionID"), message.From("messageID"), id.From("partID"), field.From("field"), delta.From("delta"))
	at := slices.IndexFunc(d.Parts, func(k Part) bool { return k.ID == wire.Keep(w.Text(id)) })
	if text := w.Text(delta); at >= 0 && field.Str == "text" && text != "" {
		d.grow(w, d.session(w.Text(session)), &d.Parts[at], w.Text(message), text)
	}
}

// call emits what is new of a call. One that has ended and is not open has no other event,
// or is one that a person has aborted.
func (d *decoder) call(w *wire.Writer, s *Session, message string, p *part) *wire.Problem {
	id := w.Text(p.call)
	if !p.call.IsString() || id == "" {
		return wire.WrongType("part.callID", p.call, "a string that is not empty")
	}
	var status, input, metadata, output, failure jsonscan.Value
	p.state.Read(status.From("status"), input.From("input"), metadata.From("metadata"), output.From("output"), failure.From("error"))
	ended := status.Str == "completed" || status.Str == "error"
	if !ended && status.Str != "pending" && status.Str != "running" {
		w.UnknownCall("state of a call", status.Str, "status")
		return nil
	}
	at := slices.IndexFunc(d.Calls, func(c Call) bool { return c.ID == wire.Keep(id) && c.Message == wire.Keep(message) })
	if at < 0 && p.state.Member("time").Member("compacted").Present() {
		return nil // its output was cleared after its end
	}
	of := chunks.Chunk{Namespace: s.Namespace, Message: message, ID: id}
	whole := at >= 0 && d.Calls[at].Whole
	if !ended {
		s.start(w)
	}
	if c := of; at < 0 || !whole && status.Str != "pending" {
		c.Kind, c.Name, c.Final, c.Opens, c.Whole = chunks.Fragment, w.Text(p.tool), true, at < 0 && !ended, ended && at < 0
		if s.Namespace != s.ID {
			c.ParentCall = s.Namespace
		}
		if whole = status.Str != "pending"; whole {
			w.SetArgs(&c, input)
			if !input.Present() {
				w.UnknownMembers("the state of the call", p.state, "output", "metadata", "title", "error")
			}
		}
		w.Emit(c)
		if c = of; whole {
			c.Kind = chunks.Seal
			w.Emit(c)
		}
	}
	switch {
	case ended:
		if at >= 0 {
			d.Calls = slices.Delete(d.Calls, at, at+1)
		}
		result(w, of, status.Str, output, failure)
	case at < 0:
		d.Calls = append(wire.MakeRoom(d.Calls, maxCalls), Call{ID: wire.Keep(id), Message: wire.Keep(message), Session: s.ID, Whole: whole})
	default:
		d.Calls[at].Whole = whole
		if text := w.Text(metadata.Member("output")); text != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Progress, Namespace: s.Namespace, ID: id, Text: wire.Excerpt(text)})
		}
	}
	if child := w.Text(metadata.Member("sessionId")); child != "" {
		d.adopt(child, id)
	}
	return nil
}

// result emits a result. A command that failed is completed. What a person refused is an
// error with a text of opencode.
func result(w *wire.Writer, c chunks.Chunk, status string, output, failure jsonscan.Value) {
	c.Kind, c.Status = chunks.Result, "success"
	c.Content, c.Text = w.ContentOf(output)
	if status == "error" {
		c.Content, c.Text, c.Status = "", w.Text(failure), "error"
		switch {
		case wire.HasAnyPrefix(c.Text, "The user rejected permission", "The user has specified a rule", "The user dismissed"):
			c.Status = "denied"
		case strings.HasPrefix(c.Text, "Tool execution aborted"):
			c.Status = "cancelled"
		}
	}
	w.Emit(c)
}
