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
	return strings.HasPrefix(reason, "content_filter:") || strings.HasPrefix(reason, "function_call_filter:")
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
