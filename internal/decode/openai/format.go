// Package openai reads chat completion chunks of OpenAI and of compatible
// servers (Mistral, vLLM, Ollama's /v1, DeepSeek, Groq, OpenRouter and others):
// https://platform.openai.com/docs/api-reference/chat-streaming
//
//	{"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,
//	 "delta":{"role"?,"content"?,"tool_calls"?:[{"index","id"?,"type"?,"function":{"name"?,"arguments"?}}]},
//	 "finish_reason":null}],"usage"?:{…}}
//	{"error":{"message","type","code"}} or, from vLLM, {"object":"error","message","type","code"} in mid-stream
//
// It also reads a user message, {"role":"user","content"}, and a result,
// {"role":"tool","tool_call_id","content"}. Names may also be in camel case, as the
// JavaScript SDKs of Mistral and OpenRouter write them. OpenRouter also sends the error in the choice, with the finish reason "error".
package openai

import (
	"cmp"

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
	var role, content, call jsonscan.Value
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
		case "tool_call_id", "toolCallId":
			call = m.Value
		}
	}
	switch {
	case role.Str == "tool" && !typed && call.Present():
		return wire.IfKnown
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
	Running wire.IDs
}

func (d *decoder) Fields(f *stored.Fields) { d.Running.Fields(f, "r") }

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	if f.Done {
		w.Emit(chunks.Chunk{Kind: chunks.Done})
		d.Running = nil
		return nil
	}
	var id, choices, usage, failure, role, content, call, object, groq, other jsonscan.Value
	w.ReadFrame("the chunk", f,
		id.From("id"), object.From("object"), other.From("created"), other.From("model"), other.From("service_tier"),
		other.From("system_fingerprint"), choices.From("choices"), usage.From("usage"), other.From("obfuscation"),
		groq.From("x_groq"), other.From("provider"), failure.From("error"), role.From("role"), content.From("content"),
		other.From("moderation"), call.From("tool_call_id"), call.From("toolCallId"),
	)
	if object.Str == "error" && !failure.Present() {
		failure = f.JSON
	}
	if !usage.Present() {
		usage = groq.Member("usage")
	}
	switch {
	case role.Str == "user":
		w.Emit(chunks.Chunk{Kind: chunks.Human, ID: w.Text(id), Text: w.PlainText(content)})
		return nil
	case role.Str == "tool" && call.Present():
		return w.ToolResult(chunks.Chunk{}, wire.ReadResult(f.JSON))
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
	w.EmitUsage(chunks.Chunk{Message: of.Message}, usage)
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
	wire.ArgsSlot:  {"choices.*.delta.tool_calls.*.function.arguments", "choices.*.delta.toolCalls.*.function.arguments"},
	wire.IndexSlot: {"choices.*.delta.tool_calls.*.index", "choices.*.delta.toolCalls.*.index"},
}

// Mistral returns the format mistral: https://docs.mistral.ai/api/#tag/chat
//
// A chunk has the shape of OpenAI's. Its calls are whole and often lack index
// and type, the id of later chunks of a call is "null", and content may consist
// of parts. Its JavaScript SDK returns {"data":chunk} in camel case.
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

// choice emits the delta, or the whole message, of a choice and its end. Where
// the provider failed, the finish reason ("error") does not complete the args.
func (d *decoder) choice(w *wire.Writer, of wire.Choice, v jsonscan.Value, failed bool) {
	var index, delta, message, finish, failure jsonscan.Value
	w.ReadKnown("the choice", v,
		index.From("index"), delta.From("delta"), message.From("message"), finish.From("finish_reason"), failure.From("error"),
		finish.From("finishReason"),
	)
	of.Index = index.Int()
	if delta.IsObject() {
		d.delta(w, of, delta)
	}
	if message.IsObject() && !wire.Filled(delta) { // some servers send the whole message at the end
		of.Whole, of.Varies = true, false
		d.delta(w, of, message)
	}
	switch reason := w.Text(finish); {
	case failed:
	case failure.Present():
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, IDVaries: of.Message != "", Text: w.FailureText(failure)})
		d.Running = nil
	case reason == "error", reason == "network_error", wire.Discards(reason):
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: of.Message, IDVaries: of.Message != "", Text: "the finish reason is " + reason})
		d.Running = nil
	case reason != "":
		w.Emit(chunks.Chunk{
			Kind: chunks.Finish, Message: of.Message, Choice: of.Index, IDVaries: of.Varies,
			Reason: reason, Truncated: wire.Truncates(reason),
		})
		d.Running = nil
	}
}

func (d *decoder) delta(w *wire.Writer, of wire.Choice, delta jsonscan.Value) {
	var role, content, reasoning, thoughts, refusal, calls, legacy, executed jsonscan.Value
	w.ReadKnown("the delta", delta,
		role.From("role"), content.From("content"), reasoning.From("reasoning_content"), thoughts.From("reasoning"),
		refusal.From("refusal"), calls.From("tool_calls"), legacy.From("function_call"), executed.From("executed_tools"),
		calls.From("toolCalls"), legacy.From("functionCall"), reasoning.From("reasoningContent"),
	)
	if !reasoning.Present() || reasoning.Raw == `""` { // some servers send both, with the same text
		reasoning = thoughts
	}
	if s := w.Text(role); s != "" {
		// The wire does not show whether a role after the end of a message
		// begins another message with the same id. Fresh stays unset.
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index, IDVaries: of.Varies, Role: s})
	}
	w.Content(of, chunks.Reasoning, reasoning)
	w.Content(of, chunks.Text, content)
	w.Content(of, chunks.Text, refusal)
	d.executedTools(w, of, executed)
	if calls.IsObject() {
		w.OpenAICall(of, calls)
	}
	for e := calls.Elements(); e.Next(); {
		w.OpenAICall(of, e.Value)
	}
	// Some servers send both, for old and new clients.
	if some := calls.Elements(); legacy.IsObject() && !calls.IsObject() && !some.Next() {
		w.OpenAIFunction(of, legacy, "", "", "")
	}
}

// executedTools emits the calls that Groq makes and runs in the course of an answer:
//
//	"executed_tools":[{"index":0,"type":"search","arguments":"{…}"}]
//	→ "executed_tools":[{"index":0,"type":"search","arguments":"{…}","output":"…"}]
//
// An entry comes without its output first and with it later, or once with it. Calls
// have no id, and mostly no name but their type.
func (d *decoder) executedTools(w *wire.Writer, of wire.Choice, entries jsonscan.Value) {
	for e := entries.Elements(); e.Next(); {
		var index, kind, name, args, output, other jsonscan.Value
		w.ReadKnown("executed_tools", e.Value,
			index.From("index"), kind.From("type"), name.From("name"), args.From("arguments"), output.From("output"),
			other.From("search_results"), other.From("code_results"), other.From("browser_results"),
		)
		c := chunks.Chunk{
			Kind: chunks.Fragment, Message: of.Message, Choice: of.Index, IDVaries: of.Varies, Index: wire.RawIndex(index),
			Name: cmp.Or(w.Text(name), w.Text(kind)), CallKind: "server", Provider: true, Final: true, Opens: true,
		}
		if c.Name != "" {
			d.executed(w, c, args, output)
		}
	}
}

func (d *decoder) executed(w *wire.Writer, c chunks.Chunk, args, output jsonscan.Value) {
	place := cmp.Or(c.Index, c.Name)
	if d.Running.AddNew(place, maxRunning) {
		w.SetArgs(&c, args)
		w.EmitWhole(c)
	}
	if !output.Present() {
		return
	}
	result := chunks.Chunk{Kind: chunks.Result, Index: c.Index, Name: c.Name, Status: "success"}
	result.Content, result.Text = w.ContentOf(output)
	w.Emit(result)
	d.Running.Remove(place)
}

// maxRunning is the maximum number of executed tools whose outputs are awaited.
const maxRunning = 64
