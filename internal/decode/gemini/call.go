package gemini

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// call emits a whole call, or a piece of the open call. If server is true, Google
// runs the call, and its name is the type of the tool.
func (d *decoder) call(w *wire.Writer, of wire.Choice, call jsonscan.Value, server bool) *wire.Problem {
	var id, name, args, pieces, continues jsonscan.Value
	w.ReadKnown("functionCall", call,
		id.From("id"), name.From("name"), name.From("toolType"), name.From("tool_type"), args.From("args"),
		pieces.From("partialArgs"), pieces.From("partial_args"),
		continues.From("willContinue"), continues.From("will_continue"),
	)
	goesOn := continues.Kind == jsonscan.True
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.Message, Choice: of.Index,
		ID: w.Text(id), Name: w.Text(name), Final: true, Opens: true, Provider: server,
	}
	if server {
		c.CallKind = "server"
	}
	switch {
	case args.Present() && !args.IsObject() && !args.IsString():
		return wire.WrongType("functionCall.args", args, "an object")
	case c.Name == "" && args.Present() && !args.IsEmpty():
		if !d.Bare || d.Choice != of.Index {
			return wire.WrongType("functionCall.name", name, "a string that is not empty")
		}
		d.Bare, c.Opens = false, false // the args of the call before
		return d.whole(w, c, args)
	case c.Name == "":
		return d.pieces(w, of, pieces, goesOn)
	}
	d.begin(w, of)
	d.closeCall(w, of.Message) // calls are sequential, so the open call has all its args
	if goesOn || pieces.Present() {
		d.Open, d.Choice, d.Args = true, of.Index, Args{}
		w.Emit(c)
		return d.pieces(w, of, pieces, goesOn)
	}
	if !args.Present() || args.IsEmpty() {
		d.Bare, d.Choice = !server, of.Index
	}
	return d.whole(w, c, args)
}

// whole emits a call with all its args. One without args is not sealed yet: some gateways
// send its args in the next part, without the name.
func (d *decoder) whole(w *wire.Writer, c chunks.Chunk, args jsonscan.Value) *wire.Problem {
	c.Object, c.Args = true, "{}" // for a call without args
	switch {
	case args.IsObject():
		c.Args = w.Compact(args.Raw)
	case args.IsString():
		c.Object, c.Args = false, w.Text(args)
	}
	if d.Bare {
		w.Emit(c)
	} else {
		w.EmitWhole(c)
	}
	return nil
}

// pieces emits pieces of the args of the open call. A piece that does not follow
// the text so far makes the args invalid: the text ends there and stays incomplete.
func (d *decoder) pieces(w *wire.Writer, of wire.Choice, pieces jsonscan.Value, continues bool) (first *wire.Problem) {
	if !d.Open || d.Choice != of.Index {
		if pieces.Present() {
			return wire.WrongShape("functionCall.partialArgs has pieces, but no call is open that they could be of")
		}
		return nil
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: of.Message, Choice: of.Index}
	if pieces.Present() && !pieces.IsArray() {
		first = wire.WrongType("functionCall.partialArgs", pieces, "an array")
		c.Args = d.Args.invalidate()
		w.Emit(c)
	}
	for e := pieces.Elements(); e.Next(); {
		text, p := d.piece(w, &d.Args, e.Value)
		first = cmp.Or(first, p)
		if c.Args = text; text != "" {
			w.Emit(c)
		}
	}
	if !continues {
		d.closeCall(w, of.Message)
	}
	return first
}

// closeCall ends the call whose args may go on, if there is one.
func (d *decoder) closeCall(w *wire.Writer, message string) {
	if !d.Open && !d.Bare {
		return
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: message, Choice: d.Choice}
	if d.Open && !d.Args.Invalid {
		c.Args = w.Build(func(dst []byte) []byte { return d.Args.close(dst, 0) })
	}
	if c.Args != "" {
		w.Emit(c)
	}
	w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: message, Choice: d.Choice})
	d.Open, d.Bare, d.Args = false, false, Args{}
}

func (d *decoder) blockReason(w *wire.Writer, feedback jsonscan.Value) (reason string) {
	var v jsonscan.Value
	feedback.Read(v.From("blockReason"), v.From("block_reason"))
	if reason = w.Text(v); reason == "BLOCK_REASON_UNSPECIFIED" {
		return ""
	}
	return reason
}

// begin emits the start of a message where a message begins. All other content
// belongs to the current message.
func (d *decoder) begin(w *wire.Writer, of wire.Choice) {
	if !d.Begun || of.Message != d.Message {
		if d.Bare {
			d.closeCall(w, d.Message)
		}
		*d = decoder{Message: wire.Keep(of.Message), Begun: true}
		w.Emit(chunks.Chunk{Kind: chunks.Start, Message: of.Message, Choice: of.Index})
	}
}

func (d *decoder) candidate(w *wire.Writer, of wire.Choice, v jsonscan.Value) (first *wire.Problem) {
	var index, content, finish, message jsonscan.Value
	w.ReadKnown("the candidate", v,
		index.From("index"), content.From("content"), finish.From("finishReason"), finish.From("finish_reason"),
		message.From("finishMessage"), message.From("finish_message"),
	)
	of.Index = index.Int()
	if content.Present() && !content.IsObject() {
		first = wire.WrongType("candidates[].content", content, "an object")
	}
	parts := content.Member("parts")
	if parts.Present() && !parts.IsArray() {
		first = wire.WrongType("candidates[].content.parts", parts, "an array")
	}
	n := w.Len()
	for e := parts.Elements(); e.Next(); {
		first = cmp.Or(first, d.part(w, of, e.Value))
	}
	if reason := w.Text(finish); reason == "CONTINUATION" {
		d.Continued = true
	} else if reason != "" && reason != "FINISH_REASON_UNSPECIFIED" {
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
	if d.Bare && d.Choice == of.Index {
		d.closeCall(w, of.Message)
	}
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
	if s := w.Text(text); d.Bare && (s != "" || result.IsObject() || serverCall.IsObject() || serverResult.IsObject()) {
		d.closeCall(w, d.Message)
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
