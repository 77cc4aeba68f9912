// Package geminilive reads the messages of Gemini's Live API (BidiGenerateContent), of the
// server, of its client, or of both in one log: https://ai.google.dev/api/live
//
//	setup, setupComplete → clientContent{turns,turnComplete} or realtimeInput{text,audio,…}
//	→ serverContent{modelTurn{parts},outputTranscription,interrupted,generationComplete,turnComplete} …
//	→ toolCall{functionCalls:[{id,name,args}]} → toolResponse{functionResponses:[{id,name,response,willContinue}]}
//	or toolCallCancellation{ids}
//
// Each member may also be spelled with underscores. A turn is a run and one message, until
// turnComplete. Calls come whole. The code in executableCode may call a function that comes
// as toolCall as well, so only the latter is a call.
package geminilive

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format gemini-live.
func Format() wire.Format {
	return wire.Format{
		Name: "gemini-live", Shape: "openai",
		Keys: []string{
			"setup", "setupComplete", "serverContent", "toolCall", "toolCallCancellation", "clientContent", "realtimeInput", "toolResponse", "goAway",
			"sessionResumptionUpdate", "setup_complete", "server_content", "tool_call", "tool_call_cancellation", "client_content", "realtime_input",
			"tool_response", "go_away", "session_resumption_update",
		},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	claim := wire.No
	for m := f.Members(); m.Next(); {
		switch m.Key {
		case "type", "candidates", "jsonrpc":
			return wire.No
		case "setupComplete", "serverContent", "clientContent", "realtimeInput", "goAway", "sessionResumptionUpdate",
			"setup_complete", "server_content", "client_content", "realtime_input", "go_away", "session_resumption_update":
			if m.Value.IsObject() {
				claim = wire.Surely
			}
		case "toolCall", "tool_call":
			claim = max(claim, has(m.Value, "functionCalls", "function_calls"))
		case "toolResponse", "tool_response":
			claim = max(claim, has(m.Value, "functionResponses", "function_responses"))
		case "toolCallCancellation", "tool_call_cancellation":
			claim = max(claim, has(m.Value, "ids", "ids"))
		case "setup":
			claim = max(claim, has(m.Value, "model", "model"))
		case "usageMetadata", "usage_metadata", "error", "voiceActivity", "voiceActivityDetectionSignal":
			claim = max(claim, wire.IfKnown)
		}
	}
	return claim
}

func has(v jsonscan.Value, key, other string) wire.Claim {
	var found jsonscan.Value
	v.Read(found.From(key), found.From(other))
	return wire.SurelyIf(found.Raw != "", wire.IfKnown)
}

type decoder struct {
	Running     bool
	Interrupted bool // the turn was interrupted
	Heard       bool // the speech of the person has begun to come
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Running)
	f.Flag("i", &d.Interrupted)
	f.Flag("h", &d.Heard)
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) (problem *wire.Problem) {
	var content, call, cancellation, answer, client, input, usage, failure, other jsonscan.Value
	w.ReadFrame("the message", f,
		content.From("serverContent"), call.From("toolCall"), cancellation.From("toolCallCancellation"), answer.From("toolResponse"),
		client.From("clientContent"), input.From("realtimeInput"), usage.From("usageMetadata"), failure.From("error"),
		content.From("server_content"), call.From("tool_call"), cancellation.From("tool_call_cancellation"), answer.From("tool_response"),
		client.From("client_content"), input.From("realtime_input"), usage.From("usage_metadata"), other.From("setup"),
	)
	if failure.Present() {
		w.FailRun("", w.FailureText(failure))
		*d = decoder{}
		return nil
	}
	if client.IsObject() {
		problem = d.client(w, client)
	}
	if text := w.Text(input.Member("text")); text != "" {
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: text, Aside: true})
	}
	if call.IsObject() {
		problem = cmp.Or(problem, d.calls(w, call))
	}
	if answer.IsObject() {
		problem = cmp.Or(problem, answers(w, answer))
	}
	for e := cancellation.Member("ids").Elements(); e.Next(); {
		if id := w.Text(e.Value); id != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "cancelled", Text: "The model cancelled the call."})
		}
	}
	d.content(w, content, usage)
	return problem
}

func (d *decoder) start(w *wire.Writer) {
	if !d.Running {
		d.Running, d.Interrupted = true, false
		w.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
	}
}

// The parts of a message.
const (
	answered = iota
	thought
	spoken
)

// content emits what the model answers, and the end of its turn. Usage may come alone.
func (d *decoder) content(w *wire.Writer, v, usage jsonscan.Value) {
	var turn, complete, interrupted, heard, said jsonscan.Value
	w.ReadKnown("serverContent", v,
		turn.From("modelTurn"), complete.From("turnComplete"), interrupted.From("interrupted"), heard.From("inputTranscription"), said.From("outputTranscription"),
		turn.From("model_turn"), complete.From("turn_complete"), heard.From("input_transcription"), said.From("output_transcription"),
	)
	d.hear(w, heard.Member("text"))
	for e := turn.Member("parts").Elements(); e.Next(); {
		d.part(w, e.Value)
	}
	if said.IsObject() {
		d.start(w)
		w.EmitText(chunks.Chunk{Kind: chunks.Text, Part: spoken}, said.Member("text"))
	}
	if interrupted.Kind == jsonscan.True {
		d.Interrupted, d.Heard = d.Running, false
	}
	w.EmitUsage(chunks.Chunk{}, usage)
	if complete.Kind == jsonscan.True {
		d.start(w)
		end := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
		reason := ""
		if d.Interrupted {
			end.Status, reason = "interrupted", "interrupted"
		}
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: reason})
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
		w.Emit(end)
		*d = decoder{}
	}
}

// hear emits the speech of a person, which comes in pieces.
func (d *decoder) hear(w *wire.Writer, v jsonscan.Value) {
	text := w.Text(v)
	switch {
	case text == "":
		return
	case d.Heard:
		w.Emit(chunks.Chunk{Kind: chunks.HumanText, Text: text})
	default:
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: text, Aside: true})
	}
	d.Heard = true
}

func (d *decoder) part(w *wire.Writer, part jsonscan.Value) {
	d.start(w)
	var text, thinks, known jsonscan.Value
	w.ReadKnown("the part", part,
		text.From("text"), thinks.From("thought"), known.From("executableCode"), known.From("executable_code"), known.From("codeExecutionResult"),
		known.From("code_execution_result"), known.From("inlineData"), known.From("inline_data"),
	)
	c := chunks.Chunk{Kind: chunks.Text, Part: answered}
	if thinks.Kind == jsonscan.True {
		c.Kind, c.Part = chunks.Reasoning, thought
	}
	w.EmitText(c, text)
}

func (d *decoder) calls(w *wire.Writer, v jsonscan.Value) (problem *wire.Problem) {
	var list jsonscan.Value
	w.ReadKnown("toolCall", v, list.From("functionCalls"), list.From("function_calls"))
	if !list.IsArray() {
		return wire.WrongType("toolCall.functionCalls", list, "a list")
	}
	d.start(w)
	for e := list.Elements(); e.Next(); {
		var id, name, args jsonscan.Value
		w.ReadKnown("functionCalls", e.Value, id.From("id"), name.From("name"), args.From("args"))
		c := chunks.Chunk{Kind: chunks.Fragment, ID: w.Text(id), Name: w.Text(name), Final: true, Opens: true, Args: "{}", Object: true}
		switch {
		case c.Name == "":
			problem = cmp.Or(problem, wire.WrongType("functionCalls.name", name, "a string that is not empty"))
			continue
		case args.IsObject():
			c.Args = w.Compact(args.Raw)
		case args.Present():
			problem = cmp.Or(problem, wire.WrongType("functionCalls.args", args, "an object"))
			continue
		}
		w.EmitWhole(c)
	}
	return problem
}

// answers emits results. Some clients send one without a list.
func answers(w *wire.Writer, v jsonscan.Value) (problem *wire.Problem) {
	var list jsonscan.Value
	w.ReadKnown("toolResponse", v, list.From("functionResponses"), list.From("function_responses"))
	if list.IsObject() {
		return w.GeminiResult(list)
	}
	for e := list.Elements(); e.Next(); {
		problem = cmp.Or(problem, w.GeminiResult(e.Value))
	}
	return problem
}

// client emits what a person writes: the turns after the last one of the model.
func (d *decoder) client(w *wire.Writer, v jsonscan.Value) (problem *wire.Problem) {
	var turns, complete jsonscan.Value
	v.Read(turns.From("turns"), complete.From("turnComplete"), complete.From("turn_complete"))
	n := w.Len()
	each := func(turn jsonscan.Value) {
		var role, parts jsonscan.Value
		turn.Read(role.From("role"), parts.From("parts"))
		if role.Str == "model" {
			w.Truncate(n) // history
			return
		}
		for e := parts.Elements(); e.Next(); {
			if r := wire.FunctionResponse(e.Value); r.IsObject() {
				problem = cmp.Or(problem, w.GeminiResult(r))
			}
		}
		if text := w.PlainText(parts); text != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Human, Text: text, Aside: true})
		}
	}
	if turns.IsObject() {
		each(turns)
	}
	for e := turns.Elements(); e.Next(); {
		each(e.Value)
	}
	if complete.Kind == jsonscan.True {
		d.start(w)
	}
	return problem
}
