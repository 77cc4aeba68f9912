package gemini

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// failure ends the message that the error names, or the message that began last
// where it names none, and its run.
func (r reader) failure(id string, failure jsonscan.Value) {
	if id == "" {
		id = r.d.Message
	}
	r.FailRun(id, r.FailureText(failure))
	*r.d = Decoder{}
}

// blockReason returns the reason why the prompt was blocked, or "".
func (r reader) blockReason(feedback jsonscan.Value) (reason string) {
	for m := feedback.Members(); m.Next(); {
		if m.Key == "blockReason" || m.Key == "block_reason" {
			reason = r.Text(m.Value)
		}
	}
	if reason == "BLOCK_REASON_UNSPECIFIED" {
		return ""
	}
	return reason
}

// begin emits the start of a message where a message begins. All other content
// belongs to the current message.
func (r reader) begin(of wire.Choice) {
	if !r.d.Begun || of.Message != r.d.Message {
		*r.d = Decoder{Message: wire.Keep(of.Message), Begun: true}
		r.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index})
	}
}

func (r reader) candidate(of wire.Choice, v jsonscan.Value) (first *wire.Problem) {
	var content, parts, finish, message jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "index":
			of.Index = m.Value.Int()
		case "content":
			content = m.Value
		case "finishReason", "finish_reason":
			finish = m.Value
		case "finishMessage", "finish_message":
			message = m.Value
		default:
			r.UnknownMember("the candidate", m.Key, m.Value)
		}
	}
	if content.Present() && !content.IsObject() {
		first = wire.WrongType("candidates[].content", content, "an object")
	}
	parts = content.Member("parts")
	if parts.Present() && !parts.IsArray() {
		first = wire.WrongType("candidates[].content.parts", parts, "an array")
	}
	n := r.Len()
	for e := parts.Elements(); e.Next(); {
		if p := r.part(of, e.Value); p != nil && first == nil {
			first = p
		}
	}
	if reason := r.Text(finish); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
		r.begin(of)
		r.finish(of, reason)
		if wire.Discards(reason) {
			r.d.discarded = r.Join("the model's call was thrown away: ", reason)
			if s := r.Text(message); s != "" {
				r.d.discarded = r.Join(r.d.discarded, ": ", s)
			}
		}
	} else if r.Len() > n {
		r.d.End.Spared = true
	}
	return first
}

// finish emits the finish reason. It also ends a call that comes in pieces, because
// the wire sometimes omits the end of the call. Where the answer is truncated, the
// args stay incomplete.
func (r reader) finish(of wire.Choice, reason string) {
	truncated := reason != "STOP" // the other reasons are limits, filters and malformed calls
	if r.d.Open && r.d.Choice == of.Index {
		if truncated {
			r.d.Open, r.d.Args = false, Args{}
		} else {
			r.closeCall(of.Message)
		}
	}
	r.Emit(chunks.Chunk{
		Kind: chunks.Finish, Message: of.Message, Choice: of.Index,
		Reason: reason, Truncated: truncated, Wait: r.d.End.wait(reason),
	})
	r.d.End.Stopped = true
}

func (r reader) part(of wire.Choice, part jsonscan.Value) *wire.Problem {
	var text, thought, call, result, serverCall, serverResult jsonscan.Value
	for m := part.Members(); m.Next(); {
		switch m.Key {
		case "text":
			text = m.Value
		case "thought":
			thought = m.Value
		case "functionCall", "function_call":
			call = m.Value
		case "functionResponse", "function_response":
			result = m.Value
		case "toolCall", "tool_call":
			serverCall = m.Value
		case "toolResponse", "tool_response":
			serverResult = m.Value
		case "executableCode", "executable_code":
			r.tool(of, running)
		case "codeExecutionResult", "code_execution_result":
			r.tool(of, ran)
		default:
			r.UnknownGeminiPart(m.Key, m.Value)
		}
	}
	if s := r.Text(text); s != "" {
		r.begin(of)
		c := chunks.Chunk{Kind: chunks.Text, Message: of.Message, Choice: of.Index, Text: s}
		if thought.Kind == jsonscan.True {
			c.Kind = chunks.Reasoning
		}
		r.Emit(c)
	}
	switch {
	case call.IsObject():
		return r.call(of, call, false)
	case serverCall.IsObject():
		r.tool(of, running)
		return r.call(of, serverCall, true)
	case result.IsObject():
		return r.GeminiResult(result)
	case serverResult.IsObject():
		r.tool(of, ran)
		return r.GeminiResult(serverResult)
	case call.Present():
		return wire.WrongType("functionCall", call, "an object")
	}
	return nil
}
