package gemini

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// failure ends the message that the error names, or the message that began last
// where it names none, and its run.
func (d *decoder) failure(w *wire.Writer, id string, failure jsonscan.Value) {
	if id == "" {
		id = d.Message
	}
	w.FailRun(id, w.FailureText(failure))
	*d = decoder{}
}

// blockReason returns the reason why the prompt was blocked, or "".
func (d *decoder) blockReason(w *wire.Writer, feedback jsonscan.Value) (reason string) {
	for m := feedback.Members(); m.Next(); {
		if m.Key == "blockReason" || m.Key == "block_reason" {
			reason = w.Text(m.Value)
		}
	}
	if reason == "BLOCK_REASON_UNSPECIFIED" {
		return ""
	}
	return reason
}

// begin emits the start of a message where a message begins. All other content
// belongs to the current message.
func (d *decoder) begin(w *wire.Writer, of wire.Choice) {
	if !d.Begun || of.Message != d.Message {
		*d = decoder{Message: wire.Keep(of.Message), Begun: true}
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index})
	}
}

func (d *decoder) candidate(w *wire.Writer, of wire.Choice, v jsonscan.Value) (first *wire.Problem) {
	var content, parts, finish, message jsonscan.Value
	var index jsonscan.Value
	w.ReadKnown("the candidate", v,
		index.From("index"), content.From("content"), finish.From("finishReason"), finish.From("finish_reason"),
		message.From("finishMessage"), message.From("finish_message"),
	)
	of.Index = index.Int()
	if content.Present() && !content.IsObject() {
		first = wire.WrongType("candidates[].content", content, "an object")
	}
	parts = content.Member("parts")
	if parts.Present() && !parts.IsArray() {
		first = wire.WrongType("candidates[].content.parts", parts, "an array")
	}
	n := w.Len()
	for e := parts.Elements(); e.Next(); {
		first = cmp.Or(first, d.part(w, of, e.Value))
	}
	if reason := w.Text(finish); reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
		d.begin(w, of)
		d.finish(w, of, reason)
		if wire.Discards(reason) {
			d.discarded = w.Join("the model's call was thrown away: ", reason)
			if s := w.Text(message); s != "" {
				d.discarded = w.Join(d.discarded, ": ", s)
			}
		}
	} else if w.Len() > n {
		d.End.Spared = true
	}
	return first
}

// finish emits the finish reason. It also ends a call that comes in pieces, because
// the wire sometimes omits the end of the call. Where the answer is truncated, the
// args stay incomplete.
func (d *decoder) finish(w *wire.Writer, of wire.Choice, reason string) {
	truncated := reason != "STOP" // the other reasons are limits, filters and malformed calls
	if d.Open && d.Choice == of.Index {
		if truncated {
			d.Open, d.Args = false, Args{}
		} else {
			d.closeCall(w, of.Message)
		}
	}
	w.Emit(chunks.Chunk{
		Kind: chunks.Finish, Message: of.Message, Choice: of.Index,
		Reason: reason, Truncated: truncated, Wait: d.End.wait(reason),
	})
	d.End.Stopped = true
}

func (d *decoder) part(w *wire.Writer, of wire.Choice, part jsonscan.Value) *wire.Problem {
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
			d.tool(w, of, running)
		case "codeExecutionResult", "code_execution_result":
			d.tool(w, of, ran)
		default:
			w.UnknownGeminiPart(m.Key, m.Value)
		}
	}
	if s := w.Text(text); s != "" {
		d.begin(w, of)
		c := chunks.Chunk{Kind: chunks.Text, Message: of.Message, Choice: of.Index, Text: s}
		if thought.Kind == jsonscan.True {
			c.Kind = chunks.Reasoning
		}
		w.Emit(c)
	}
	switch {
	case call.IsObject():
		return d.call(w, of, call, false)
	case serverCall.IsObject():
		d.tool(w, of, running)
		return d.call(w, of, serverCall, true)
	case result.IsObject():
		return w.GeminiResult(result)
	case serverResult.IsObject():
		d.tool(w, of, ran)
		return w.GeminiResult(serverResult)
	case call.Present():
		return wire.WrongType("functionCall", call, "an object")
	}
	return nil
}
