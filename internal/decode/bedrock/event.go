package bedrock

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func claimsMessage(f wire.Frame) wire.Claim {
	var output, stop, role, content jsonscan.Value
	f.Read(output.From("output"), stop.From("stopReason"), role.From("role"), content.From("content"))
	if stop.IsString() && output.Member("message").IsObject() {
		return wire.Surely
	}
	if role.Str == "user" {
		for e := content.Elements(); e.Next(); {
			if e.Value.Member("toolResult").IsObject() {
				return wire.Surely
			}
		}
	}
	return wire.No
}

// readEvent returns the name and the payload of an event. The name is "" where the
// frame is not an event of Bedrock.
func readEvent(f wire.Frame) (kind string, payload jsonscan.Value) {
	if isEvent(f.Name) {
		return f.Name, f.JSON
	}
	alone := true
	for m := f.Members(); m.Next(); {
		switch {
		case m.Key == "event" && m.Value.IsObject():
			if inner := m.Value.Members(); inner.Next() && isEvent(inner.Key) {
				return inner.Key, inner.Value
			}
			return "", jsonscan.Value{}
		case m.Key == "metadata":
			kind, payload = m.Key, m.Value
		case isEvent(m.Key):
			return m.Key, m.Value
		case m.Key != "p" && !isAddition(m.Key): // p is padding
			alone = false
		}
	}
	if !alone { // other formats have a member metadata too
		return "", jsonscan.Value{}
	}
	return kind, payload
}

// isAddition reports whether InvokeModelWithResponseStream adds a member to the
// model's own events, such as amazon-bedrock-invocationMetrics.
func isAddition(key string) bool { return strings.HasPrefix(key, "amazon-bedrock-") }

// The names of the events and of the exceptions. A stream has both.
var (
	eventNames     = [...]string{"messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"}
	exceptionNames = [...]string{
		"internalServerException", "modelStreamErrorException", "modelTimeoutException",
		"serviceUnavailableException", "throttlingException", "validationException",
	}
)

func isEvent(name string) bool {
	return slices.Contains(eventNames[:], name) || isException(name)
}

func isException(name string) bool { return slices.Contains(exceptionNames[:], name) }
