package openai

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
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

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	failed, typed, empty := false, false, false
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "object":
			switch m.Value.Str {
			case "chat.completion.chunk", "chat.completion", "error":
				return wire.Surely
			}
		case "choices":
			if m.Value.IsArray() {
				return wire.Surely
			}
			empty = m.Value.Kind <= jsonscan.Null
		case "error":
			failed = m.Value.Present()
		case "type":
			typed = true
		}
	}
	switch {
	case failed && typed: // Anthropic's errors are so, and those of some proxies
		return wire.IfKnown
	case failed, empty:
		return wire.Perhaps
	}
	return wire.No
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	if f.Done {
		r.Emit(chunks.Chunk{Kind: chunks.Ended})
		return nil
	}
	var id, choices, usage, failure jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "choices":
			choices = m.Value
		case "usage":
			usage = m.Value
		case "error":
			failure = m.Value
		case "object":
			if m.Value.Str == "error" {
				failure = f.JSON
			}
		case "x_groq":
			if !usage.Present() {
				usage = m.Value.Member("usage")
			}
		}
	}
	of := wire.Choice{Message: r.Text(id)}
	if choices.Present() && !choices.IsArray() {
		return wire.WrongType("choices", choices, "an array")
	}
	for e := choices.Elements(); e.Next(); {
		r.choice(of, e.Value, failure.Present())
	}
	if failure.Present() {
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, Text: r.FailureText(failure)})
	}
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: of.Message, Usage: usage.Raw})
	}
	return nil
}

// choice emits what a choice says. Where the provider failed, its finish
// reason ("error") does not complete the args.
func (r reader) choice(of wire.Choice, v jsonscan.Value, failed bool) {
	var delta, message, finish, failure jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "error":
			failure = m.Value
		case "index":
			of.Index = m.Value.Int()
		case "delta":
			delta = m.Value
		case "message":
			message = m.Value
		case "finish_reason":
			finish = m.Value
		}
	}
	switch {
	case delta.IsObject():
		r.delta(of, delta)
	case message.IsObject():
		of.Whole = true
		r.delta(of, message)
	}
	switch reason := r.Text(finish); {
	case failed:
	case failure.Present():
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, Text: r.FailureText(failure)})
	case reason == "error", reason == "network_error":
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, Text: "the finish reason is " + reason})
	case reason != "":
		r.Emit(chunks.Chunk{
			Kind: chunks.Finish, Message: of.Message, Choice: of.Index,
			Reason: reason, Truncated: wire.Truncates(reason),
		})
	}
}

// delta emits a delta, or a whole message.
func (r reader) delta(of wire.Choice, delta jsonscan.Value) {
	var role, content, reasoning, refusal, calls, legacy jsonscan.Value
	for m := delta.Members(); m.Next(); {
		switch m.Key {
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		case "reasoning_content", "reasoning":
			// Some servers send both, with the same text.
			if reasoning.Raw == "" || reasoning.Raw == "null" || reasoning.Raw == `""` {
				reasoning = m.Value
			}
		case "refusal":
			refusal = m.Value
		case "tool_calls":
			calls = m.Value
		case "function_call":
			legacy = m.Value
		}
	}
	if s := r.Text(role); s != "" {
		// Whether a role in a message that has finished begins another one
		// under the same id, the wire does not say: Fresh stays unset.
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index, Role: s})
	}
	r.Content(of, chunks.Reasoning, reasoning)
	r.Content(of, chunks.Text, content)
	r.Content(of, chunks.Text, refusal)
	if calls.IsObject() {
		r.OpenAICall(of, calls)
	}
	for e := calls.Elements(); e.Next(); {
		r.OpenAICall(of, e.Value)
	}
	// Some servers send both, for clients of either age.
	if some := calls.Elements(); legacy.IsObject() && !calls.IsObject() && !some.Next() {
		r.OpenAIFunction(of, legacy, "", "", "")
	}
}
