package wire

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// Choice identifies the message and the choice of a chunk.
type Choice struct {
	Message string
	Index   int
	Whole   bool // the message was not streamed
	Varies  bool // the id of the message may change within it; see chunks.Chunk.IDVaries
}

// Content emits the text of a message. It is a string, or a list of parts as
// Mistral sends them: {"type":"text","text"} and
// {"type":"thinking","thinking":[…]}.
func (w *Writer) Content(of Choice, kind chunks.Kind, v jsonscan.Value) {
	if !v.IsArray() {
		w.EmitText(chunks.Chunk{Kind: kind, Message: of.Message, Choice: of.Index, IDVaries: of.Varies}, v)
		return
	}
	for e := v.Elements(); e.Next(); {
		for m := e.Value.Members(); m.Next(); {
			switch m.Key {
			case "text":
				if m.Value.IsString() {
					w.Content(of, kind, m.Value)
				}
			case "thinking":
				for t := m.Value.Elements(); t.Next(); {
					w.Content(of, chunks.Reasoning, t.Value.Member("text"))
				}
			}
		}
	}
}

// OpenAICall emits an entry of tool_calls, which may be incomplete.
func (w *Writer) OpenAICall(of Choice, call jsonscan.Value) {
	var index, id, kind, function, custom jsonscan.Value
	w.ReadKnown("tool_calls", call,
		index.From("index"), id.From("id"), kind.From("type"), function.From("function"), custom.From("custom"),
	)
	callKind := ""
	if kind.Str == "custom" || kind.Str != "function" && Filled(custom) {
		callKind = "custom"
	}
	if callKind != "" && custom.IsObject() {
		function = custom
	}
	w.OpenAIFunction(of, function, RawIndex(index), w.Text(id), callKind)
}

// OpenAIFunction emits a fragment from {"name","arguments"}, or of a custom
// tool {"name","input"}. It emits nothing where all of them are empty.
func (w *Writer) OpenAIFunction(of Choice, function jsonscan.Value, index, id, kind string) {
	var name, args jsonscan.Value
	argsKey := "arguments"
	if kind == "custom" {
		argsKey = "input"
	}
	w.ReadKnown("function", function, name.From("name"), args.From(argsKey))
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.Message, Choice: of.Index, Whole: of.Whole, IDVaries: of.Varies,
		Index: index, ID: id, Name: w.Text(name), CallKind: kind,
	}
	w.SetArgs(&c, args)
	w.EmitCall(c)
}

// SetArgs sets the args of a chunk, which are text, or an object or array as JSON.
func (w *Writer) SetArgs(c *chunks.Chunk, args jsonscan.Value) {
	c.Object = args.IsNested()
	if c.Args = w.Text(args); c.Object {
		c.Args = w.Compact(args.Raw)
	}
}

// RawIndex returns the index of a call as written, and "" where it is null or
// missing.
func RawIndex(v jsonscan.Value) string {
	if !v.Present() {
		return ""
	}
	return v.Raw
}

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
