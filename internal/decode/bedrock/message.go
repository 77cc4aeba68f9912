package bedrock

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// wholeMessage emits a message that was not streamed: the answer of Converse,
// {"output":{"message":{"role","content"}},"stopReason","usage"}, or a user
// message, which contains the results of client tools.
func (r reader) wholeMessage(v jsonscan.Value) (first *wire.Problem) {
	message := v.Member("output").Member("message")
	answer := message.IsObject()
	if !answer {
		message = v
	}
	content := message.Member("content")
	if !content.IsArray() {
		return wire.WrongType("content", content, "a list of blocks")
	}
	if answer {
		*r.d = Decoder{}
		r.Emit(chunks.Chunk{Kind: chunks.Start, Role: r.Text(message.Member("role")), Fresh: true})
	}
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		if p := r.block(chunks.Chunk{Part: i, Whole: true}, e.Value, answer); p != nil && first == nil {
			first = p
		}
	}
	if answer {
		r.finish(v.Member("stopReason"))
		if usage := v.Member("usage"); usage.IsObject() {
			r.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: r.Compact(usage.Raw)})
		}
		r.Emit(chunks.Chunk{Kind: chunks.Ended})
	}
	return first
}

// block emits a block of a whole message. Of a user message it emits results only.
func (r reader) block(of chunks.Chunk, block jsonscan.Value, answer bool) *wire.Problem {
	for m := block.Members(); m.Next(); {
		switch {
		case m.Key == "toolResult":
			return r.ToolResult(wire.ReadResult(m.Value))
		case !answer && (m.Key == "text" || m.Key == "toolUse"): // of a user message
		case m.Key == "toolUse":
			of.Part = 0
			r.call(of, m.Value)
		case m.Key == "text", m.Key == "reasoningContent":
			c := chunks.Chunk{Kind: chunks.Text, Part: of.Part, Text: r.Text(m.Value)}
			if m.Key == "reasoningContent" {
				c.Kind, c.Text = chunks.Reasoning, r.Text(m.Value.Member("reasoningText").Member("text"))
			}
			if c.Text != "" {
				r.Emit(c)
			}
		default:
			r.UnknownMember("the content block", m.Key, m.Value)
		}
	}
	return nil
}

// failureText returns the message of an exception: {"message","originalMessage"?}.
func (r reader) failureText(kind string, e jsonscan.Value) string {
	if s := r.Text(e.Member("message")); s != "" {
		return s
	}
	if s := r.Text(e.Member("originalMessage")); s != "" {
		return s
	}
	return kind
}

func (r reader) finish(stop jsonscan.Value) {
	reason := r.Text(stop)
	r.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: truncates(reason)})
}

func truncates(reason string) bool {
	switch reason {
	case "max_tokens", "model_context_window_exceeded", // by a limit
		"content_filtered", "guardrail_intervened", // by a filter
		"malformed_model_output", "malformed_tool_use": // by the server
		return true
	}
	return false
}
