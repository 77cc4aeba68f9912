// Package openai reads chat completion chunks of OpenAI and of compatible
// servers (Mistral, vLLM, Ollama's /v1, DeepSeek, Groq, OpenRouter and others):
// https://platform.openai.com/docs/api-reference/chat-streaming
//
//	{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,
//	 "delta":{"role"?,"content"?,"tool_calls"?:[{"index","id"?,"type"?,"function":{"name"?,"arguments"?}}]},
//	 "finish_reason":null}],"usage"?:{…}}
//	{"error":{"message","type","code"}} or, from vLLM, {"object":"error","message","type","code"} in mid-stream
//
// It also reads a user message, {"role":"user","content"}. OpenRouter also sends the error in the choice, with the finish reason "error".
package openai

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Chat returns the format openai-chat.
func Chat() wire.Format {
	return wire.Format{
		Name: "openai-chat", Shape: "openai",
		Keys:      []string{"choices", "object", "error", "role"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

func claims(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.Perhaps
	}
	failed, typed, empty := false, false, false
	var role, content jsonscan.Value
	for m := f.Members(); m.Next(); {
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
		case "role":
			role = m.Value
		case "content":
			content = m.Value
		}
	}
	switch {
	case role.Str == "user" && !typed && wire.IsText(content):
		return wire.Perhaps
	case failed && typed: // so are the errors of Anthropic and of some proxies
		return wire.IfKnown
	case failed, empty:
		return wire.Perhaps
	}
	return wire.No
}

// decoder decodes chat completion chunks. Each chunk names its message, so its only
// state is that of the tools that Groq runs.
type decoder struct {
	// Running are the raw indexes of executed tools without an output, or the names of
	// those without an index.
	Running []string
}

func (d *decoder) Fields(f *stored.Fields) { f.Texts("r", &d.Running) }

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	if f.Done {
		w.Emit(chunks.Chunk{Kind: chunks.Done})
		d.Running = nil
		return nil
	}
	var id, choices, usage, failure, role, content, object, groq, other jsonscan.Value
	w.ReadFrame("the chunk", f,
		id.From("id"), object.From("object"), other.From("created"), other.From("model"), other.From("service_tier"),
		other.From("system_fingerprint"), choices.From("choices"), usage.From("usage"), other.From("obfuscation"),
		groq.From("x_groq"), other.From("provider"), failure.From("error"), role.From("role"), content.From("content"),
	)
	if object.Str == "error" && !failure.Present() {
		failure = f.JSON
	}
	if !usage.Present() {
		usage = groq.Member("usage")
	}
	if role.Str == "user" {
		w.Emit(chunks.Chunk{Kind: chunks.Human, ID: w.Text(id), Text: w.PlainText(content)})
		return nil
	}
	of := wire.Choice{Message: w.Text(id), Varies: true}
	if choices.Present() && !choices.IsArray() {
		return wire.WrongType("choices", choices, "an array")
	}
	for e := choices.Elements(); e.Next(); {
		d.choice(w, of, e.Value, failure.Present())
	}
	if failure.Present() {
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, IDVaries: of.Message != "", Text: w.FailureText(failure)})
		d.Running = nil
	}
	if usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: of.Message, Usage: usage.Raw})
	}
	return nil
}

func findSlots(s *wire.SlotFinder, _ wire.Frame, at wire.Place) (note uint8, ok bool) {
	s.Walk(at, slots.At)
	s.Usage(s.Members(at).Get("usage"))
	return 0, true
}

var slots = wire.Slots{
	wire.MessageSlot: {"id"},
	wire.Unread:      {"created", "model", "system_fingerprint", "service_tier", "provider", "obfuscation", "p"},
	wire.TextSlot: {
		"choices.*.delta.content", "choices.*.delta.content.*.text", "choices.*.delta.content.*.thinking.*.text",
		"choices.*.delta.reasoning_content", "choices.*.delta.reasoning",
	},
	wire.ArgsSlot:  {"choices.*.delta.tool_calls.*.function.arguments"},
	wire.IndexSlot: {"choices.*.delta.tool_calls.*.index"},
}

// Mistral returns the format mistral: https://docs.mistral.ai/api/#tag/chat
//
// A chunk has the shape of OpenAI's. Its calls are whole and often lack index
// and type, the id of later chunks of a call is "null", and content may consist
// of parts.
//
// Streams of Mistral cannot be distinguished from those of other compatible
// servers. The same decoder reads both, so Mistral is only a name: a stream
// without the header is recognised as openai-chat.
func Mistral() wire.Format {
	return wire.Format{
		Name: "mistral", Shape: "openai",
		Keys:      []string{},
		Claims:    func(f wire.Frame) wire.Claim { return min(claims(f), wire.IfKnown) },
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}
