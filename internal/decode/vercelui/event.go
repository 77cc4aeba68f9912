package vercelui

import (
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type event struct {
	kind, message, id, call, name, delta, input, output, failure, finish, usage, reason jsonscan.Value
	approval, automatic, encoding, executed, preliminary                                jsonscan.Value
	worded                                                                              bool // the failure is in errorText
}

// read reads the members of an event. The names of version 4 become those of
// version 5.
func (e *event) read(f wire.Frame) {
	var text jsonscan.Value
	f.Read(
		e.kind.From("type"), e.message.From("messageId"), e.id.From("id"), e.call.From("toolCallId"), e.name.From("toolName"),
		e.delta.From("delta"), e.delta.From("inputTextDelta"), e.delta.From("text"), e.delta.From("argsTextDelta"),
		e.input.From("input"), e.input.From("args"), e.output.From("output"), e.output.From("result"),
		text.From("errorText"), e.failure.From("error"), e.finish.From("finishReason"),
		e.usage.From("usage"), e.usage.From("totalUsage"), e.reason.From("reason"),
		e.approval.From("approvalId"), e.automatic.From("isAutomatic"), e.encoding.From("inputEncoding"),
		e.executed.From("providerExecuted"), e.preliminary.From("preliminary"),
	)
	e.kind = currentKind(e.kind)
	if text.Raw != "" {
		e.failure, e.worded = text, true
	}
}

// currentKind returns the name in version 5 of an event type.
func currentKind(v jsonscan.Value) jsonscan.Value {
	switch v.Str {
	case "tool-call-streaming-start":
		v.Str = "tool-input-start"
	case "tool-call-delta":
		v.Str = "tool-input-delta"
	case "step-start":
		v.Str = "start-step"
	case "step-finish":
		v.Str = "finish-step"
	}
	return v
}
