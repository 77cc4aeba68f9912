package anthropic

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startMessage begins a message. A proxy that joins two answers may send the
// second message_start before the first message has ended.
func (d *Decoder) startMessage(w *wire.Writer, message jsonscan.Value) *wire.Problem {
	if !message.IsObject() {
		return wire.WrongType("message", message, "an object")
	}
	var id, role, content, usage jsonscan.Value
	message.Read(id.From("id"), role.From("role"), content.From("content"), usage.From("usage"))
	*d = Decoder{Message: wire.Keep(w.Text(id))}
	if usage.IsObject() && len(usage.Raw) <= wire.MaxUsage {
		d.Usage = strings.Clone(usage.Raw)
	}
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: w.Text(role), Fresh: true})
	return d.blocks(w, d.Message, content)
}

// messageDelta emits the stop reason and the usage of a message_delta. The usage
// takes precedence over that of message_start, and lacks some of its members.
func (d *Decoder) messageDelta(w *wire.Writer, delta, usage jsonscan.Value) {
	if reason := w.Text(delta.Member("stop_reason")); reason != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: d.Message, Reason: reason, Truncated: wire.AnthropicTruncates(reason)})
	}
	if usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: d.Message, Usage: d.merge(w, d.Usage, usage)})
	}
}

// merge returns the object over, preceded by the members of the object under
// that it lacks.
func (d *Decoder) merge(w *wire.Writer, under string, over jsonscan.Value) string {
	if under == "" {
		return over.Raw
	}
	return w.Build(func(dst []byte) []byte {
		dst = append(dst, '{')
		for m := jsonscan.ValueOf(under).Members(); m.Next(); {
			if over.Member(m.Key).Raw == "" {
				dst = wire.AppendMember(dst, &m)
			}
		}
		for m := over.Members(); m.Next(); {
			dst = wire.AppendMember(dst, &m)
		}
		return append(dst, '}')
	})
}

func (d *Decoder) wholeMessage(w *wire.Writer, message jsonscan.Value) *wire.Problem {
	problem := d.startMessage(w, message)
	d.Usage = ""
	d.messageDelta(w, message, message.Member("usage"))
	w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: d.Message})
	return problem
}
