package anthropic

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// startMessage begins a message. A proxy that joins two answers may send the
// second message_start before the first message has ended.
func (r reader) startMessage(message jsonscan.Value) *wire.Problem {
	if !message.IsObject() {
		return wire.WrongType("message", message, "an object")
	}
	var id, role, content, usage jsonscan.Value
	message.Read(id.From("id"), role.From("role"), content.From("content"), usage.From("usage"))
	*r.d = Decoder{Message: wire.Keep(r.Text(id))}
	if usage.IsObject() && len(usage.Raw) <= wire.MaxUsage {
		r.d.Usage = strings.Clone(usage.Raw)
	}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: r.Text(role), Fresh: true})
	return r.blocks(r.d.Message, content)
}

// messageDelta emits the stop reason and the usage of a message_delta. The usage
// takes precedence over that of message_start, and lacks some of its members.
func (r reader) messageDelta(delta, usage jsonscan.Value) {
	if reason := r.Text(delta.Member("stop_reason")); reason != "" {
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: r.d.Message, Reason: reason, Truncated: wire.AnthropicTruncates(reason)})
	}
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: r.d.Message, Usage: r.merge(r.d.Usage, usage)})
	}
}

// merge returns the object over, preceded by the members of the object under
// that it lacks.
func (r reader) merge(under string, over jsonscan.Value) string {
	if under == "" {
		return over.Raw
	}
	return r.Build(func(dst []byte) []byte {
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

func (r reader) wholeMessage(message jsonscan.Value) *wire.Problem {
	problem := r.startMessage(message)
	r.d.Usage = ""
	r.messageDelta(message, message.Member("usage"))
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: r.d.Message})
	return problem
}
