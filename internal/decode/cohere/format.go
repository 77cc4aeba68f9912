// Package cohere reads the stream of Cohere's chat API, version 2:
// https://docs.cohere.com/v2/docs/streaming
//
//	message-start{id,delta:{message:{role}}} → tool-plan-delta{delta:{message:{tool_plan}}} …
//	→ content-start|content-delta|content-end{index,delta:{message:{content:{type,text|thinking}}}}
//	→ tool-call-start{index,delta:{message:{tool_calls:{id,type,function:{name,arguments:""}}}}}
//	→ tool-call-delta{index,delta:{message:{tool_calls:{function:{arguments}}}}} … → tool-call-end{index}
//	→ citation-start|citation-end → message-end{delta:{finish_reason,usage,error?}}
//
// Here tool_calls is an object, not a list. A call without args has no
// tool-call-delta. The JavaScript SDK writes tool_calls, tool_plan and finish_reason in camel
// case. Only message-start has the id of the message. An answer that
// was not streamed is {"id","finish_reason","message":{role,content,tool_plan,tool_calls},"usage"}.
package cohere

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format cohere.
func Format() wire.Format {
	return wire.Format{
		Name: "cohere", Shape: "openai",
		Keys:   []string{"type", "finish_reason", "finishReason"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
		FindSlots: wire.Slots{
			wire.BlockSlot: {"index"},
			wire.TextSlot:  {"delta.message.tool_plan", "delta.message.toolPlan", "delta.message.content.text", "delta.message.content.thinking"},
			wire.ArgsSlot:  {"delta.message.tool_calls.function.arguments", "delta.message.toolCalls.function.arguments"},
		}.Of("tool-plan-delta", "content-delta", "tool-call-delta"),
	}
}

func claims(f wire.Frame) wire.Claim {
	var kind, delta, role, call, message, finish jsonscan.Value
	f.Read(
		message.From("message"), finish.From("finish_reason"), kind.From("type"), delta.From("delta"),
		role.From("role"), call.From("tool_call_id"), finish.From("finishReason"), call.From("toolCallId"),
	)
	switch kind.Str {
	case "message-start", "message-end", "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start":
		// Other formats have events of these names, without this delta.
		return wire.SurelyIf(delta.IsObject(), wire.IfKnown)
	case "content-end", "tool-call-end", "citation-end":
		return wire.Surely
	case "debug":
		return wire.IfKnown
	case "":
		if finish.IsString() && finish.Str == strings.ToUpper(finish.Str) && message.Member("role").Str == "assistant" {
			return wire.Surely
		}
		if role.Str == "tool" && call.Present() {
			return wire.IfKnown
		}
	}
	return wire.No
}

// either returns the member of an object with one of two spellings of its key.
func either(v jsonscan.Value, key, camel string) (found jsonscan.Value) {
	v.Read(found.From(key), found.From(camel))
	return found
}

type decoder struct {
	Message string // id of the message that began last
}

func (d *decoder) Fields(f *stored.Fields) { f.Text("m", &d.Message) }

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var kind, id, index, delta, answer jsonscan.Value
	f.Read(answer.From("message"), kind.From("type"), id.From("id"), index.From("index"), delta.From("delta"))
	if delta.Present() && !delta.IsObject() {
		return wire.WrongType("delta", delta, "an object")
	}
	switch message := delta.Member("message"); kind.Str {
	case "message-start":
		d.Message = wire.Keep(w.Text(id))
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: w.Text(message.Member("role")), Fresh: true})
	case "tool-plan-delta":
		d.emitText(w, chunks.Reasoning, 0, either(message, "tool_plan", "toolPlan"))
	case "content-start", "content-delta":
		content := message.Member("content")
		d.emitText(w, chunks.Text, index.Int(), content.Member("text"))
		d.emitText(w, chunks.Reasoning, index.Int(), content.Member("thinking"))
	case "content-end":
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: d.Message, Part: index.Int()})
	case "tool-call-start", "tool-call-delta":
		return d.toolCall(w, index, either(message, "tool_calls", "toolCalls"), kind.Str == "tool-call-start")
	case "tool-call-end":
		w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: d.Message, Index: index.Raw})
	case "message-end":
		d.endMessage(w, delta)
	case "":
		if answer.IsObject() {
			d.wholeAnswer(w, w.Text(id), answer, f.JSON)
			return nil
		}
		return w.ToolResult(chunks.Chunk{}, wire.ReadResult(f.JSON))
	}
	return nil
}

// Fill completes the chunk of a delta, which belongs to the message that began
// last.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return true
}

func (d *decoder) wholeAnswer(w *wire.Writer, id string, message, end jsonscan.Value) {
	d.Message = wire.Keep(id)
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
	d.emitText(w, chunks.Reasoning, 0, either(message, "tool_plan", "toolPlan"))
	part := 0
	for e := message.Member("content").Elements(); e.Next(); part++ {
		d.emitText(w, chunks.Reasoning, part, e.Value.Member("thinking"))
		d.emitText(w, chunks.Text, part, e.Value.Member("text"))
	}
	for e := either(message, "tool_calls", "toolCalls").Elements(); e.Next(); {
		w.OpenAICall(wire.Choice{Message: d.Message, Whole: true}, e.Value)
	}
	w.UnknownMembers("the message", message, "content", "tool_plan", "tool_calls", "citations", "toolCalls")
	d.endMessage(w, end)
}

func (d *decoder) emitText(w *wire.Writer, kind chunks.Kind, part int, v jsonscan.Value) {
	w.EmitText(chunks.Chunk{Kind: kind, Message: d.Message, Part: part}, v)
}

func (d *decoder) toolCall(w *wire.Writer, index, call jsonscan.Value, begins bool) *wire.Problem {
	if e := call.Elements(); e.Next() { // servers that imitate Cohere send a list of one
		call = e.Value
	}
	if !call.IsObject() {
		return wire.WrongType("delta.message.tool_calls", call, "an object")
	}
	var id, function, name, args jsonscan.Value
	w.ReadKnown("delta.message.tool_calls", call, id.From("id"), function.From("function"))
	w.ReadKnown("delta.message.tool_calls.function", function, name.From("name"), args.From("arguments"))
	w.EmitCall(chunks.Chunk{
		Kind: chunks.Fragment, Message: d.Message, Index: index.Raw,
		ID: w.Text(id), Name: w.Text(name), Args: w.Text(args), Final: begins, Opens: begins, Exact: !begins,
	})
	return nil
}

// endMessage emits the end of a message. The finish reasons ERROR, ERROR_LIMIT and
// the like, and TIMEOUT are failures of the provider, which end the run.
func (d *decoder) endMessage(w *wire.Writer, delta jsonscan.Value) {
	var finish, usage, failure jsonscan.Value
	delta.Read(finish.From("finish_reason"), finish.From("finishReason"), usage.From("usage"), failure.From("error"))
	message := d.Message
	reason := w.Text(finish)
	w.EmitUsage(chunks.Chunk{Message: message}, usage)
	switch {
	case failure.Present():
		w.FailRun(message, w.FailureText(failure))
		return
	case strings.HasPrefix(reason, "ERROR"), reason == "TIMEOUT":
		w.FailRun(message, "the finish reason is "+reason)
		return
	case reason != "":
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: reason, Truncated: reason == "MAX_TOKENS"})
	}
	w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
}
