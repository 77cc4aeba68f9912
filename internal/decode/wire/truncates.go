package wire

import "strings"

// Truncates reports whether a finish reason of OpenAI, or of a provider with the
// same shape, means that the answer is incomplete.
func Truncates(reason string) bool {
	switch reason {
	case "length", "max_tokens", "max_output_tokens", "model_length", // by a limit
		"content_filter", "sensitive", // by a filter
		"insufficient_system_resource", "abort": // by the server
		return true
	}
	// The compatible endpoint of Gemini adds the cause: "content_filter: SAFETY".
	return strings.HasPrefix(reason, "content_filter:")
}

// Discards reports whether a finish reason means that the provider threw away the calls of
// the answer, because it could not read them or did not expect them. The reasons are
// Gemini's: MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, TOO_MANY_TOOL_CALLS,
// MALFORMED_RESPONSE, MISSING_THOUGHT_SIGNATURE. Its compatible endpoint has them as
// "function_call_filter: UNEXPECTED_TOOL_CALL".
func Discards(reason string) bool {
	s := strings.ToUpper(reason)
	return strings.HasSuffix(s, "_FUNCTION_CALL") || strings.HasSuffix(s, "_TOOL_CALL") || strings.HasSuffix(s, "_TOOL_CALLS") ||
		strings.HasPrefix(s, "MALFORMED_") || s == "MISSING_THOUGHT_SIGNATURE" || strings.HasPrefix(s, "FUNCTION_CALL_FILTER")
}

// AnthropicTruncates reports whether a stop reason of Anthropic means that the
// answer is incomplete. A refusal is one, because a classifier stops the answer.
func AnthropicTruncates(reason string) bool {
	switch reason {
	case "max_tokens", "model_context_window_exceeded", "refusal":
		return true
	}
	return false
}
