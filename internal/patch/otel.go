package patch

import (
	"cmp"
	"strings"
)

// openTelemetry returns the format of OpenTelemetry's generative AI messages, version
// 0.1.0 of their schemas, as in gen_ai.input.messages and gen_ai.output.messages.
// https://opentelemetry.io/docs/specs/semconv/gen-ai/
func openTelemetry() format {
	return spelling{
		format: aiModel(),
		own: &facts{
			shape: OpenTelemetry,
			claims: "parts:tool_call parts:tool_call_response parts:server_tool_call parts:server_tool_call_response " +
				"parts:blob parts:uri parts.content",
			knows: "role:tool parts:typed parts:text parts:reasoning parts:file",
		},
		view: otelView,
		back: otelBack,
	}
}

// otelView returns a message as a ModelMessage of the AI SDK.
func otelView(message string) string {
	results := each(member(message, "parts"), func(p string) bool { return text(member(p, "type")) == "tool_call_response" })
	if results { // whatever the role of the message is
		message = setMember(message, "role", `"tool"`)
	}
	return renamed(editMember(message, "parts", func(parts string) string {
		return editElements(parts, func(_ int, part string) (string, bool) {
			switch text(member(part, "type")) {
			case "tool_call":
				part = renamed(setMember(part, "type", `"tool-call"`), "id:toolCallId", "name:toolName", "arguments:input")
			case "tool_call_response":
				part = renamed(setMember(part, "type", `"tool-result"`), "id:toolCallId", "response:output", "result:output")
			}
			return part, true
		})
	}), "parts:content")
}

// otelBack returns a message of otelView as one of OpenTelemetry.
func otelBack(message string) string {
	if content := member(message, "content"); strings.HasPrefix(content, `"`) {
		message = setMember(message, "content", list([]string{textBlock(content)}))
	}
	return renamed(editMember(message, "content", func(parts string) string {
		return editElements(parts, func(_ int, part string) (string, bool) {
			switch text(member(part, "type")) {
			case "tool-call":
				part = renamed(setMember(part, "type", `"tool_call"`), "toolCallId:id", "toolName:name", "input:arguments")
			case "tool-result":
				part = renamed(setMember(part, "type", `"tool_call_response"`), "toolCallId:id", "output:response")
				if member(part, "toolName") != "" { // a new result
					value := func(output string) string { return cmp.Or(member(output, "value"), output) }
					part = removeMember(editMember(part, "response", value), "toolName")
				}
			case "text":
				part = renamed(part, "text:content")
			}
			return part, true
		})
	}), "content:parts")
}
