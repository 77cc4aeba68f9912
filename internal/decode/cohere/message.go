package cohere

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r reader) wholeAnswer(id string, message, end jsonscan.Value) {
	r.d.Message = wire.Keep(id)
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: r.d.Message, Role: "assistant", Fresh: true})
	r.emitText(chunks.Reasoning, 0, message.Member("tool_plan"))
	part := 0
	for e := message.Member("content").Elements(); e.Next(); part++ {
		r.emitText(chunks.Reasoning, part, e.Value.Member("thinking"))
		r.emitText(chunks.Text, part, e.Value.Member("text"))
	}
	for e := message.Member("tool_calls").Elements(); e.Next(); {
		r.OpenAICall(wire.Choice{Message: r.d.Message, Whole: true}, e.Value)
	}
	r.UnknownMembers("the message", message, "content", "tool_plan", "tool_calls", "citations")
	r.endMessage(end)
}

func (r reader) emitText(kind chunks.Kind, part int, v jsonscan.Value) {
	if s := r.Text(v); s != "" {
		r.Emit(chunks.Chunk{Kind: kind, Message: r.d.Message, Part: part, Text: s})
	}
}

func (r reader) toolCall(index, call jsonscan.Value, begins bool) *wire.Problem {
	if e := call.Elements(); e.Next() { // servers that imitate Cohere send a list of one
		call = e.Value
	}
	if !call.IsObject() {
		return wire.WrongType("delta.message.tool_calls", call, "an object")
	}
	var id, function jsonscan.Value
	r.ReadKnown("delta.message.tool_calls", call, id.From("id"), function.From("function"))
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: r.d.Message, Index: index.Raw,
		ID: r.Text(id), Final: begins, Opens: begins, Exact: !begins,
	}
	for m := function.Members(); m.Next(); {
		switch m.Key {
		case "name":
			c.Name = r.Text(m.Value)
		case "arguments":
			c.Args = r.Text(m.Value)
		default:
			r.UnknownMember("delta.message.tool_calls.function", m.Key, m.Value)
		}
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		r.Emit(c)
	}
	return nil
}

// endMessage emits the end of a message. The finish reasons ERROR, ERROR_LIMIT and
// the like, and TIMEOUT are failures of the provider, which end the run.
func (r reader) endMessage(delta jsonscan.Value) {
	var finish, usage, failure jsonscan.Value
	delta.Read(finish.From("finish_reason"), usage.From("usage"), failure.From("error"))
	message := r.d.Message
	reason := r.Text(finish)
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: message, Usage: usage.Raw})
	}
	switch {
	case failure.Present():
		r.FailRun(message, r.FailureText(failure))
		return
	case strings.HasPrefix(reason, "ERROR"), reason == "TIMEOUT":
		r.FailRun(message, "the finish reason is "+reason)
		return
	case reason != "":
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: reason, Truncated: reason == "MAX_TOKENS"})
	}
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
}
