package cohere

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Cohere's chat, version 2: https://docs.cohere.com/v2/docs/streaming
//
//	message-start{id,delta:{message:{role}}} → tool-plan-delta{delta:{message:{tool_plan}}} …
//	→ content-start|content-delta|content-end{index,delta:{message:{content:{type,text|thinking}}}}
//	→ tool-call-start{index,delta:{message:{tool_calls:{id,type,function:{name,arguments:""}}}}}
//	→ tool-call-delta{index,delta:{message:{tool_calls:{function:{arguments}}}}} … → tool-call-end{index}
//	→ citation-start|citation-end → message-end{delta:{finish_reason,usage,error?}}
//
// tool_calls is an object here, not a list. A call without args has no
// tool-call-delta. Only message-start has the message's id. An answer that was
// not streamed is {"id","finish_reason","message":{role,content,tool_plan,tool_calls},"usage"}.

// Decoder is what the cohere format remembers between events.
type Decoder struct {
	Message string `json:"m,omitzero"` // id of the message that began last
}

func claims(f wire.Frame) wire.Claim {
	var kind, delta, role, call, message, finish jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "message":
			message = m.Value
		case "finish_reason":
			finish = m.Value
		case "type":
			kind = m.Value
		case "delta":
			delta = m.Value
		case "role":
			role = m.Value
		case "tool_call_id":
			call = m.Value
		}
	}
	switch kind.Str {
	case "message-start", "message-end", "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start":
		// Others have such names too, without this delta.
		if delta.IsObject() {
			return wire.Surely
		}
		return wire.IfKnown
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

func (r reader) decode(f wire.Frame) *wire.Problem {
	var kind, id, index, delta, answer jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "message":
			answer = m.Value
		case "type":
			kind = m.Value
		case "id":
			id = m.Value
		case "index":
			index = m.Value
		case "delta":
			delta = m.Value
		}
	}
	mem := r.d
	if delta.Present() && !delta.IsObject() {
		return wire.WrongType("delta", delta, "an object")
	}
	switch message := delta.Member("message"); kind.Str {
	case "message-start":
		mem.Message = wire.Keep(r.Text(id))
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: r.Text(message.Member("role")), Fresh: true})
	case "tool-plan-delta":
		r.cohereText(chunks.Reasoning, 0, message.Member("tool_plan"))
	case "content-start", "content-delta":
		content := message.Member("content")
		r.cohereText(chunks.Text, index.Int(), content.Member("text"))
		r.cohereText(chunks.Reasoning, index.Int(), content.Member("thinking"))
	case "content-end":
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: index.Int()})
	case "tool-call-start", "tool-call-delta":
		return r.cohereCall(index, message.Member("tool_calls"), kind.Str == "tool-call-start")
	case "tool-call-end":
		r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, Index: index.Raw})
	case "message-end":
		r.cohereEnd(delta)
	case "":
		if answer.IsObject() {
			r.cohereWhole(r.Text(id), answer, f.JSON)
			return nil
		}
		return r.ToolResult(wire.ReadResult(f.JSON))
	}
	return nil
}

// cohereWhole reads an answer that was not streamed.
func (r reader) cohereWhole(id string, message, end jsonscan.Value) {
	mem := r.d
	mem.Message = wire.Keep(id)
	r.Emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	r.cohereText(chunks.Reasoning, 0, message.Member("tool_plan"))
	part := 0
	for e := message.Member("content").Elements(); e.Next(); part++ {
		r.cohereText(chunks.Reasoning, part, e.Value.Member("thinking"))
		r.cohereText(chunks.Text, part, e.Value.Member("text"))
	}
	for e := message.Member("tool_calls").Elements(); e.Next(); {
		r.OpenAICall(wire.Choice{Message: mem.Message, Whole: true}, e.Value)
	}
	r.cohereEnd(end)
}

func (r reader) cohereText(kind chunks.Kind, part int, v jsonscan.Value) {
	if s := r.Text(v); s != "" {
		r.Emit(chunks.Chunk{Kind: kind, Message: r.d.Message, Part: part, Text: s})
	}
}

func (r reader) cohereCall(index, call jsonscan.Value, begins bool) *wire.Problem {
	if e := call.Elements(); e.Next() { // a list of one, of servers that imitate it
		call = e.Value
	}
	if !call.IsObject() {
		return wire.WrongType("delta.message.tool_calls", call, "an object")
	}
	var id, function jsonscan.Value
	for m := call.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "function":
			function = m.Value
		}
	}
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: r.d.Message, Index: index.Raw,
		ID: r.Text(id), Final: begins, Opens: begins,
	}
	for m := function.Members(); m.Next(); {
		switch m.Key {
		case "name":
			c.Name = r.Text(m.Value)
		case "arguments":
			c.Args = r.Text(m.Value)
		}
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		r.Emit(c)
	}
	return nil
}

// cohereEnd reads message-end. ERROR and TIMEOUT are failures of Cohere's, not
// ends the model came to.
func (r reader) cohereEnd(delta jsonscan.Value) {
	var finish, usage, failure jsonscan.Value
	for m := delta.Members(); m.Next(); {
		switch m.Key {
		case "finish_reason":
			finish = m.Value
		case "usage":
			usage = m.Value
		case "error":
			failure = m.Value
		}
	}
	message := r.d.Message
	reason := r.Text(finish)
	if usage.IsObject() {
		r.Emit(chunks.Chunk{Kind: chunks.Usage, Message: message, Usage: usage.Raw})
	}
	switch {
	case failure.Present():
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: message, Text: r.FailureText(failure)})
		return
	case reason == "ERROR", reason == "TIMEOUT":
		r.Emit(chunks.Chunk{Kind: chunks.Failure, Message: message, Text: "the finish reason is " + reason})
		return
	case reason != "":
		r.Emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: reason, Truncated: reason == "MAX_TOKENS"})
	}
	r.Emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
}
