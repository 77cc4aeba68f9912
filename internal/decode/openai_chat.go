package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// The OpenAI chat completion chunk, and what compatible servers (Mistral,
// vLLM, Ollama's /v1, DeepSeek, Groq, OpenRouter…) make of it:
// https://platform.openai.com/docs/api-reference/chat-streaming
//
//	{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,
//	 "delta":{"role"?,"content"?,"tool_calls"?:[{"index","id"?,"type"?,"function":{"name"?,"arguments"?}}]},
//	 "finish_reason":null}],"usage"?:{…}}
//	{"error":{"message","type","code"}} or, of vLLM, {"object":"error","message","type","code"} in the middle;
//	OpenRouter also has the error in the choice, with the finish reason "error"

func claimsOpenAIChat(f Frame) claim {
	if f.Done {
		return perhaps
	}
	failed, typed, empty := false, false, false
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "object":
			switch m.value.Str {
			case "chat.completion.chunk", "chat.completion", "error":
				return surely
			}
		case "choices":
			if isArray(m.value) {
				return surely
			}
			empty = m.value.Type == gjson.Null
		case "error":
			failed = present(m.value)
		case "type":
			typed = true
		}
	}
	switch {
	case failed && typed: // Anthropic's errors are so, and those of some proxies
		return ifKnown
	case failed, empty:
		return perhaps
	}
	return no
}

func decodeOpenAIChat(r *Reader, f Frame) *Problem {
	if f.Done {
		r.emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	var id, choices, usage, failure gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "choices":
			choices = m.value
		case "usage":
			usage = m.value
		case "error":
			failure = m.value
		case "object":
			if m.value.Str == "error" {
				failure = f.JSON
			}
		case "x_groq":
			if !present(usage) {
				usage = member(m.value, "usage")
			}
		}
	}
	of := choice{message: r.text(id)}
	if present(choices) && !isArray(choices) {
		return wrongType("choices", choices, "an array")
	}
	for e := elements(choices); e.next(); {
		r.openAIChoice(of, e.value, present(failure))
	}
	if present(failure) {
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: of.message, Text: r.failureText(failure)})
	}
	if isObject(usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: of.message, Usage: usage.Raw})
	}
	return nil
}

// choice says whose a chunk is.
type choice struct {
	message string
	index   int
	whole   bool // out of a message that was not streamed
}

// openAIChoice emits what a choice says. Where the provider failed, its finish
// reason ("error") does not complete the args.
func (r *Reader) openAIChoice(of choice, v gjson.Result, failed bool) {
	var delta, message, finish, failure gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "error":
			failure = m.value
		case "index":
			of.index = integer(m.value)
		case "delta":
			delta = m.value
		case "message":
			message = m.value
		case "finish_reason":
			finish = m.value
		}
	}
	switch {
	case isObject(delta):
		r.openAIDelta(of, delta)
	case isObject(message):
		of.whole = true
		r.openAIDelta(of, message)
	}
	switch reason := r.text(finish); {
	case failed:
	case present(failure):
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: of.message, Text: r.failureText(failure)})
	case reason == "error", reason == "network_error":
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: of.message, Text: "the finish reason is " + reason})
	case reason != "":
		r.emit(chunks.Chunk{
			Kind: chunks.Finish, Message: of.message, Choice: of.index,
			Reason: reason, Truncated: truncates(reason),
		})
	}
}

// truncates tells the finish and stop reasons of all providers of this shape
// that mean that the model did not come to its end.
func truncates(reason string) bool {
	switch reason {
	case "length", "max_tokens", "max_output_tokens", "model_length", // of the answer
		"content_filter", "sensitive", // of somebody's mind
		"insufficient_system_resource", "abort": // of the server
		return true
	}
	// Gemini's imitation says more: "content_filter: SAFETY".
	return strings.HasPrefix(reason, "content_filter:") || strings.HasPrefix(reason, "function_call_filter:")
}

// openAIDelta emits a delta, or a whole message.
func (r *Reader) openAIDelta(of choice, delta gjson.Result) {
	var role, content, reasoning, refusal, calls, legacy gjson.Result
	for m := members(delta); m.next(); {
		switch m.key {
		case "role":
			role = m.value
		case "content":
			content = m.value
		case "reasoning_content", "reasoning":
			// Some servers send both, with the same text.
			if reasoning.Raw == "" || reasoning.Raw == "null" || reasoning.Raw == `""` {
				reasoning = m.value
			}
		case "refusal":
			refusal = m.value
		case "tool_calls":
			calls = m.value
		case "function_call":
			legacy = m.value
		}
	}
	if s := r.text(role); s != "" {
		// Whether a role in a message that has finished begins another one
		// under the same id, the wire does not say: Fresh stays unset.
		r.emit(chunks.Chunk{Kind: chunks.Start, Message: of.message, Choice: of.index, Role: s})
	}
	r.content(of, chunks.Reasoning, reasoning)
	r.content(of, chunks.Text, content)
	r.content(of, chunks.Text, refusal)
	if isObject(calls) {
		r.openAICall(of, calls)
	}
	for e := elements(calls); e.next(); {
		r.openAICall(of, e.value)
	}
	// Some servers send both, for clients of either age.
	if some := elements(calls); isObject(legacy) && !isObject(calls) && !some.next() {
		r.openAIFunction(of, legacy, "", "", "")
	}
}

// content emits text of a message: a string, or a list of parts as Mistral
// sends them, {"type":"text","text"} and {"type":"thinking","thinking":[…]}.
func (r *Reader) content(of choice, kind chunks.Kind, v gjson.Result) {
	if !isArray(v) {
		if s := r.text(v); s != "" {
			r.emit(chunks.Chunk{Kind: kind, Message: of.message, Choice: of.index, Text: s})
		}
		return
	}
	for e := elements(v); e.next(); {
		for m := members(e.value); m.next(); {
			switch m.key {
			case "text":
				if m.value.Type == gjson.String {
					r.content(of, kind, m.value)
				}
			case "thinking":
				for t := elements(m.value); t.next(); {
					r.content(of, chunks.Reasoning, member(t.value, "text"))
				}
			}
		}
	}
}

// openAICall emits an entry of tool_calls, whatever of it is there.
func (r *Reader) openAICall(of choice, call gjson.Result) {
	var id, function, custom gjson.Result
	index, kind := "", ""
	for m := members(call); m.next(); {
		switch m.key {
		case "index":
			if present(m.value) {
				index = m.value.Raw
			}
		case "id":
			id = m.value
		case "type":
			if m.value.Str == "custom" {
				kind = "custom"
			}
		case "function":
			function = m.value
		case "custom":
			custom = m.value
		}
	}
	if isObject(custom) {
		r.openAIFunction(of, custom, index, r.text(id), "custom")
		return
	}
	r.openAIFunction(of, function, index, r.text(id), kind)
}

// openAIFunction emits a fragment from {"name","arguments"}, or of a custom
// tool {"name","input"}. One that says nothing at all is none.
func (r *Reader) openAIFunction(of choice, function gjson.Result, index, id, kind string) {
	var name, args gjson.Result
	for m := members(function); m.next(); {
		switch m.key {
		case "name":
			name = m.value
		case "arguments", "input":
			args = m.value
		}
	}
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.message, Choice: of.index, Whole: of.whole,
		Index: index, ID: id, Name: r.text(name), CallKind: kind,
	}
	if c.Object = args.Type == gjson.JSON; c.Object {
		c.Args = r.compact(args.Raw)
	} else {
		c.Args = r.text(args)
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		r.emit(c)
	}
}

// failureText puts a provider's error in words: a string, or an object with a
// message, a type or a code.
func (r *Reader) failureText(v gjson.Result) string {
	if !isObject(v) {
		return r.text(v)
	}
	var message, kind, code gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "message":
			message = m.value
		case "type":
			kind = m.value
		case "code":
			code = m.value
		}
	}
	for _, part := range [...]gjson.Result{message, kind, code} {
		if s := r.text(part); s != "" {
			return s
		}
	}
	return v.Raw
}
