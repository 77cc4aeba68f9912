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
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "type":
			e.kind = currentKind(m.Value)
		case "messageId":
			e.message = m.Value
		case "id":
			e.id = m.Value
		case "toolCallId":
			e.call = m.Value
		case "toolName":
			e.name = m.Value
		case "delta", "inputTextDelta", "text", "argsTextDelta":
			e.delta = m.Value
		case "input", "args":
			e.input = m.Value
		case "output", "result":
			e.output = m.Value
		case "errorText", "error":
			e.failure, e.worded = m.Value, m.Key == "errorText"
		case "finishReason":
			e.finish = m.Value
		case "usage", "totalUsage":
			e.usage = m.Value
		case "reason":
			e.reason = m.Value
		case "approvalId":
			e.approval = m.Value
		case "isAutomatic":
			e.automatic = m.Value
		case "inputEncoding":
			e.encoding = m.Value
		case "providerExecuted":
			e.executed = m.Value
		case "preliminary":
			e.preliminary = m.Value
		}
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
