package responses

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type claimFields struct {
	kind, id, object, output, failure, message jsonscan.Value
	numbered                                   bool // it has a sequence_number
	event                                      bool // it has an event_id
}

func (c *claimFields) read(f wire.Frame) {
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "type":
			if c.kind = m.Value; c.responseEvent() {
				return
			}
		case "sequence_number":
			c.numbered = true
		case "event_id":
			c.event = true
		case "id":
			c.id = m.Value
		case "object":
			c.object = m.Value
		case "output":
			c.output = m.Value
		case "error":
			c.failure = m.Value
		case "message":
			c.message = m.Value
		}
	}
}

func (c *claimFields) responseEvent() bool { return strings.HasPrefix(c.kind.Str, "response.") }

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	var c claimFields
	c.read(f)
	if c.responseEvent() {
		return wire.Surely
	}
	if ofSession(c.kind.Str) {
		return c.claimsSession()
	}
	switch c.kind.Str {
	case "":
		if c.object.Str == "response" && c.output.IsArray() {
			return wire.Surely
		}
		if c.failure.Present() {
			return wire.IfKnown // some servers send an error without a type
		}
		return claimsInput(f)
	case "message":
		return claimsInput(f)
	case "function_call_output", "custom_tool_call_output", "mcp_approval_response":
		return wire.Surely
	case "error":
		switch {
		case c.numbered:
			return wire.Surely
		case c.message.IsString() && !c.failure.Present() && !c.id.Present():
			return wire.Perhaps
		case c.failure.Present():
			return wire.IfKnown
		}
	case "keepalive":
		if c.numbered {
			return wire.Perhaps
		}
	}
	return wire.No
}
