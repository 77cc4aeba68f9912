package bedrock

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// wholeMessage emits a message that was not streamed: the answer of Converse,
// {"output":{"message":{"role","content"}},"stopReason","usage"}, or a user
// message, which contains the results of client tools.
func (d *decoder) wholeMessage(w *wire.Writer, v jsonscan.Value) (first *wire.Problem) {
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
		*d = decoder{}
		w.Emit(chunks.Chunk{Kind: chunks.Start, Role: w.Text(message.Member("role")), Fresh: true})
	}
	i := 0
	for e := content.Elements(); e.Next(); i++ {
		first = cmp.Or(first, d.block(w, chunks.Chunk{Part: i, Whole: true}, e.Value, answer))
	}
	if answer {
		d.finish(w, v.Member("stopReason"))
		if usage := v.Member("usage"); usage.IsObject() {
			w.Emit(chunks.Chunk{Kind: chunks.Usage, Usage: w.Compact(usage.Raw)})
		}
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	}
	return first
}

// block emits a block of a whole message. Of a user message it emits results only.
func (d *decoder) block(w *wire.Writer, of chunks.Chunk, block jsonscan.Value, answer bool) *wire.Problem {
	for m := block.Members(); m.Next(); {
		switch {
		case m.Key == "toolResult":
			return w.ToolResult(chunks.Chunk{}, wire.ReadResult(m.Value))
		case !answer && (m.Key == "text" || m.Key == "toolUse"): // of a user message
		case m.Key == "toolUse":
			of.Part = 0
			d.call(w, of, m.Value)
		case m.Key == "text":
			w.EmitText(chunks.Chunk{Kind: chunks.Text, Part: of.Part}, m.Value)
		case m.Key == "reasoningContent":
			w.EmitText(chunks.Chunk{Kind: chunks.Reasoning, Part: of.Part}, m.Value.Member("reasoningText").Member("text"))
		default:
			w.UnknownMember("the content block", m.Key, m.Value)
		}
	}
	return nil
}

func (d *decoder) finish(w *wire.Writer, stop jsonscan.Value) {
	reason := w.Text(stop)
	w.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason, Truncated: truncates(reason)})
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
