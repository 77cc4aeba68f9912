package responses

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	kind := f.Type()
	if strings.HasPrefix(kind, "response.") {
		return wire.Surely
	}
	var number, event, id, object, output, failure, message jsonscan.Value
	f.Read(
		number.From("sequence_number"), event.From("event_id"), id.From("id"), object.From("object"),
		output.From("output"), failure.From("error"), message.From("message"), number.From("sequenceNumber"),
	)
	if ofSession(kind) {
		return claimsSession(kind, event.Raw != "")
	}
	switch kind {
	case "":
		if object.Str == "response" && output.IsArray() {
			return wire.Surely
		}
		if failure.Present() {
			return wire.IfKnown // some servers send an error without a type
		}
		return claimsInput(f)
	case "message":
		return claimsInput(f)
	case "function_call_output", "custom_tool_call_output", "mcp_approval_response":
		return wire.Surely
	case "error":
		switch {
		case number.Raw != "":
			return wire.Surely
		case message.IsString() && !failure.Present() && !id.Present():
			return wire.Perhaps
		case failure.Present():
			return wire.IfKnown
		}
	case "keepalive":
		if number.Raw != "" {
			return wire.Perhaps
		}
	}
	return wire.No
}
