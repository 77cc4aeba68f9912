package agui

import (
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type event struct {
	kind                                                                 string
	message, role, delta, call, name, parent, content, failure           jsonscan.Value
	run, subagent, outcome, interrupt, input, messages, code, parentCall jsonscan.Value
	raw                                                                  jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	var kind jsonscan.Value
	f.Read(
		kind.From("type"), e.message.From("messageId"), e.role.From("role"), e.delta.From("delta"),
		e.call.From("toolCallId"), e.name.From("toolCallName"), e.name.From("name"), e.parent.From("parentMessageId"),
		e.content.From("content"), e.failure.From("error"), e.failure.From("message"), e.run.From("runId"),
		e.subagent.From("subagentRunId"), e.outcome.From("outcome"), e.interrupt.From("interrupt"), e.input.From("input"),
		e.messages.From("messages"), e.code.From("code"), e.parentCall.From("parentToolCallId"), e.raw.From("rawEvent"),
	)
	e.kind = kind.Str
}
