package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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

// CohereMemory is what the cohere format remembers between events.
type CohereMemory struct {
	Message string `json:"m,omitzero"` // id of the message that began last
}

func claimsCohere(f Frame) claim {
	var kind, delta, role, call, message, finish gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "message":
			message = m.value
		case "finish_reason":
			finish = m.value
		case "type":
			kind = m.value
		case "delta":
			delta = m.value
		case "role":
			role = m.value
		case "tool_call_id":
			call = m.value
		}
	}
	switch kind.Str {
	case "message-start", "message-end", "content-start", "content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start":
		// Others have such names too, without this delta.
		if isObject(delta) {
			return surely
		}
		return ifKnown
	case "content-end", "tool-call-end", "citation-end":
		return surely
	case "debug":
		return ifKnown
	case "":
		if isString(finish) && finish.Str == strings.ToUpper(finish.Str) && member(message, "role").Str == "assistant" {
			return surely
		}
		if role.Str == "tool" && present(call) {
			return ifKnown
		}
	}
	return no
}

func decodeCohere(r *Reader, f Frame) *Problem {
	var kind, id, index, delta, answer gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "message":
			answer = m.value
		case "type":
			kind = m.value
		case "id":
			id = m.value
		case "index":
			index = m.value
		case "delta":
			delta = m.value
		}
	}
	mem := partOf(&r.mem.Cohere)
	if present(delta) && !isObject(delta) {
		return wrongType("delta", delta, "an object")
	}
	switch message := member(delta, "message"); kind.Str {
	case "message-start":
		mem.Message = keep(r.text(id), keptID)
		r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: r.text(member(message, "role")), Fresh: true})
	case "tool-plan-delta":
		r.cohereText(chunks.Reasoning, 0, member(message, "tool_plan"))
	case "content-start", "content-delta":
		content := member(message, "content")
		r.cohereText(chunks.Text, integer(index), member(content, "text"))
		r.cohereText(chunks.Reasoning, integer(index), member(content, "thinking"))
	case "content-end":
		r.emit(chunks.Chunk{Kind: chunks.PartEnd, Message: mem.Message, Part: integer(index)})
	case "tool-call-start", "tool-call-delta":
		return r.cohereCall(index, member(message, "tool_calls"), kind.Str == "tool-call-start")
	case "tool-call-end":
		r.emit(chunks.Chunk{Kind: chunks.Seal, Message: mem.Message, Index: index.Raw})
	case "message-end":
		r.cohereEnd(delta)
	case "":
		if isObject(answer) {
			r.cohereWhole(r.text(id), answer, f.JSON)
			return nil
		}
		return r.toolResult(resultFields(f.JSON))
	}
	return nil
}

// cohereWhole reads an answer that was not streamed.
func (r *Reader) cohereWhole(id string, message, end gjson.Result) {
	mem := partOf(&r.mem.Cohere)
	mem.Message = keep(id, keptID)
	r.emit(chunks.Chunk{Kind: chunks.Start, Message: mem.Message, Role: "assistant", Fresh: true})
	r.cohereText(chunks.Reasoning, 0, member(message, "tool_plan"))
	part := 0
	for e := elements(member(message, "content")); e.next(); part++ {
		r.cohereText(chunks.Reasoning, part, member(e.value, "thinking"))
		r.cohereText(chunks.Text, part, member(e.value, "text"))
	}
	for e := elements(member(message, "tool_calls")); e.next(); {
		r.openAICall(choice{message: mem.Message, whole: true}, e.value)
	}
	r.cohereEnd(end)
}

func (r *Reader) cohereText(kind chunks.Kind, part int, v gjson.Result) {
	if s := r.text(v); s != "" {
		r.emit(chunks.Chunk{Kind: kind, Message: partOf(&r.mem.Cohere).Message, Part: part, Text: s})
	}
}

func (r *Reader) cohereCall(index, call gjson.Result, begins bool) *Problem {
	if e := elements(call); e.next() { // a list of one, of servers that imitate it
		call = e.value
	}
	if !isObject(call) {
		return wrongType("delta.message.tool_calls", call, "an object")
	}
	var id, function gjson.Result
	for m := members(call); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "function":
			function = m.value
		}
	}
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: partOf(&r.mem.Cohere).Message, Index: index.Raw,
		ID: r.text(id), Final: begins, Opens: begins,
	}
	for m := members(function); m.next(); {
		switch m.key {
		case "name":
			c.Name = r.text(m.value)
		case "arguments":
			c.Args = r.text(m.value)
		}
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		r.emit(c)
	}
	return nil
}

// cohereEnd reads message-end. ERROR and TIMEOUT are failures of Cohere's, not
// ends the model came to.
func (r *Reader) cohereEnd(delta gjson.Result) {
	var finish, usage, failure gjson.Result
	for m := members(delta); m.next(); {
		switch m.key {
		case "finish_reason":
			finish = m.value
		case "usage":
			usage = m.value
		case "error":
			failure = m.value
		}
	}
	message := partOf(&r.mem.Cohere).Message
	reason := r.text(finish)
	if isObject(usage) {
		r.emit(chunks.Chunk{Kind: chunks.Usage, Message: message, Usage: usage.Raw})
	}
	switch {
	case present(failure):
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: message, Text: r.failureText(failure)})
		return
	case reason == "ERROR", reason == "TIMEOUT":
		r.emit(chunks.Chunk{Kind: chunks.Failure, Message: message, Text: "the finish reason is " + reason})
		return
	case reason != "":
		r.emit(chunks.Chunk{Kind: chunks.Finish, Message: message, Reason: reason, Truncated: reason == "MAX_TOKENS"})
	}
	r.emit(chunks.Chunk{Kind: chunks.Ended, Message: message})
}
