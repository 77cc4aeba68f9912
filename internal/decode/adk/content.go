package adk

import (
	"cmp"
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type turn struct {
	*wire.Writer

	d           *decoder
	e           *event
	of          chunks.Chunk // the namespace and the message
	author      string
	any, called bool
}

func (t *turn) chunk(kind chunks.Kind) chunks.Chunk {
	c := t.of
	c.Kind = kind
	return c
}

// content emits the parts of an event. The texts of partial ones come once.
func (t *turn) content() (problem *wire.Problem) {
	if t.e.content.Present() && !t.e.content.IsObject() {
		return wire.WrongType("content", t.e.content, "an object")
	}
	partial, streamed := t.e.partial.Kind == jsonscan.True, t.piece()
	if partial && !streamed && t.author != "user" {
		t.d.Pieces = append(wire.MakeRoom(t.d.Pieces, maxPieces), Piece{t.author, wire.Keep(t.of.Message)})
	}
	part, parts := 0, t.e.content.Member("parts")
	for e := parts.Elements(); e.Next(); {
		t.any = true
		problem = cmp.Or(problem, t.part(e.Value, &part, partial, streamed))
	}
	if text := t.PlainText(parts); t.author == "user" && text != "" {
		t.Emit(chunks.Chunk{Kind: chunks.Human, ID: t.of.Message, Text: text})
	}
	if t.author == "user" || partial {
		return problem
	}
	t.d.Pieces = slices.DeleteFunc(t.d.Pieces, func(p Piece) bool { return p.Author == t.author })
	if reason := t.Text(t.e.reason); t.any && (reason != "" || part > 0 || t.called || streamed) {
		t.end(reason)
	}
	return problem
}

// begin begins the run of the invocation again where it has ended.
func (t *turn) begin() {
	if t.d.Run != "" {
		t.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: t.d.Run})
	}
}

// piece sets the message to that of the partial events before, if there are some.
func (t *turn) piece() bool {
	for _, p := range t.d.Pieces {
		if p.Author == t.author {
			t.of.Message = p.ID
			return true
		}
	}
	return false
}

// silence is how long the answer of the first agent stays open, because another agent of a
// workflow may follow, in units of chunks.Chunk.Wait.
const silence = 10

// end ends the message. An answer of another agent may end the run; so does one beside
// calls that run long or wait, which go on.
func (t *turn) end(reason string) {
	c := t.chunk(chunks.Finish)
	c.Reason, c.Truncated = reason, reason == "MAX_TOKENS" || reason == "SAFETY"
	waits := len(t.d.Long)+len(t.d.Asks) > 0
	if !t.called && !waits && t.of.Namespace == "" {
		c.Wait = silence
	}
	t.Emit(c)
	t.EmitUsage(t.of, t.e.usage)
	if c.Wait != 0 {
		return
	}
	t.Emit(t.chunk(chunks.Ended))
	switch {
	case t.called:
	case waits:
		t.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"})
	case t.of.Namespace != "":
		t.Emit(chunks.Chunk{Kind: chunks.Answer, Message: t.of.Message})
	}
}

func (t *turn) part(v jsonscan.Value, number *int, partial, streamed bool) *wire.Problem {
	var text, thought, call, response jsonscan.Value
	v.Read(
		text.From("text"), thought.From("thought"), call.From("functionCall"), response.From("functionResponse"),
		call.From("function_call"), response.From("function_response"),
	)
	switch {
	case call.IsObject():
		if partial {
			return nil // it comes whole
		}
		return t.call(call)
	case response.IsObject():
		return t.response(response)
	case text.IsString() && t.author == "user": // all texts are one message
	case text.IsString():
		c := t.chunk(chunks.Text)
		c.Part = *number
		if thought.Kind == jsonscan.True {
			c.Kind = chunks.Reasoning
		}
		t.begin()
		if streamed && !partial {
			break // the partial events had it
		}
		if *number++; partial {
			c.Part = 0
			if c.Kind == chunks.Text {
				c.Part = 1
			}
		}
		t.EmitText(c, text)
	default:
		t.unknown(v)
	}
	return nil
}

func (t *turn) unknown(v jsonscan.Value) {
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "inlineData", "fileData", "executableCode", "codeExecutionResult", "thoughtSignature", "thought", "videoMetadata",
			"inline_data", "file_data", "executable_code", "code_execution_result", "thought_signature", "video_metadata":
		default:
			t.UnknownGeminiPart(m.Key, m.Value)
		}
	}
}

func (t *turn) call(v jsonscan.Value) *wire.Problem {
	var id, name, args jsonscan.Value
	t.ReadKnown("functionCall", v, id.From("id"), name.From("name"), args.From("args"))
	c := t.chunk(chunks.Fragment)
	c.ID, c.Name, c.Final, c.Args, c.Object = t.Text(id), t.Text(name), true, "{}", true
	switch {
	case c.Name == "":
		return wire.WrongType("functionCall.name", name, "a string that is not empty")
	case args.Present() && !args.IsObject():
		return wire.WrongType("functionCall.args", args, "an object")
	case isWait(c.Name):
		t.ask(c.ID, c.Name, args)
		return nil
	case args.IsObject():
		c.Args = t.Compact(args.Raw)
	}
	t.called = true
	t.begin()
	c.Opens, c.Whole = c.ID == "", c.ID != ""
	t.EmitWhole(c)
	for e := t.e.long.Elements(); e.Next(); {
		if long := t.Text(e.Value); long == c.ID && long != "" {
			t.d.Long = append(wire.MakeRoom(t.d.Long, maxCalls), Long{wire.Keep(long), t.d.Run})
		}
	}
	return nil
}

// ask emits that a call waits for a person, which pauses the run.
func (t *turn) ask(id, name string, args jsonscan.Value) {
	var original, call jsonscan.Value
	args.Read(original.From("originalFunctionCall"), original.From("original_function_call"), call.From("functionCallId"), call.From("function_call_id"))
	if original.IsObject() {
		call = original.Member("id")
	}
	c := chunks.Chunk{Kind: chunks.Await, ID: t.Text(call), Why: "approval", InterruptID: id}
	if name == "adk_request_input" {
		c.Why = "input"
	}
	if c.ID != "" {
		t.d.Asks = append(wire.MakeRoom(t.d.Asks, maxCalls), Ask{ID: wire.Keep(id), Call: wire.Keep(c.ID), Run: t.d.Run})
		t.Emit(c)
	}
	t.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "interrupted"})
}

// response emits a result, the progress of a call, or the end of a wait.
func (t *turn) response(v jsonscan.Value) *wire.Problem {
	var id, name, response jsonscan.Value
	v.Read(id.From("id"), name.From("name"), response.From("response"))
	call := t.Text(id)
	switch {
	case isWait(name.Str):
		t.d.Asks = slices.DeleteFunc(t.d.Asks, func(a Ask) bool { return a.ID == wire.Keep(call) })
		t.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: call, Text: wire.Excerpt(t.Compact(response.Raw))})
		return nil
	case call != "" && t.d.pending(call):
		t.Emit(chunks.Chunk{Kind: chunks.Progress, ID: call, Text: wire.Excerpt(t.Compact(response.Raw))})
		return nil
	}
	t.d.Long = slices.DeleteFunc(t.d.Long, func(l Long) bool { return l.ID == wire.Keep(call) })
	n := t.Len()
	problem := t.GeminiResult(v)
	if strings.HasPrefix(response.Member("error").Str, "This tool call is rejected") {
		for i := range t.Since(n) {
			t.Since(n)[i].Status = "denied"
		}
	}
	return problem
}
