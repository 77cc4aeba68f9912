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
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "type":
			e.kind = m.Value.Str
		case "messageId":
			e.message = m.Value
		case "role":
			e.role = m.Value
		case "delta":
			e.delta = m.Value
		case "toolCallId":
			e.call = m.Value
		case "toolCallName", "name":
			e.name = m.Value
		case "parentMessageId":
			e.parent = m.Value
		case "content":
			e.content = m.Value
		case "error", "message":
			e.failure = m.Value
		case "runId":
			e.run = m.Value
		case "subagentRunId":
			e.subagent = m.Value
		case "outcome":
			e.outcome = m.Value
		case "interrupt":
			e.interrupt = m.Value
		case "input":
			e.input = m.Value
		case "messages":
			e.messages = m.Value
		case "code":
			e.code = m.Value
		case "parentToolCallId":
			e.parentCall = m.Value
		case "rawEvent":
			e.raw = m.Value
		}
	}
}
