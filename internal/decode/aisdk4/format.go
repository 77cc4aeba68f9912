// Package aisdk4 reads the data stream of Vercel's AI SDK 4. Each event is a line
// CODE:JSON, which is read as an event with the code as its name:
//
//	f:{"messageId"} → 0:"text", g:"reasoning" → b:{"toolCallId","toolName"} → c:{"toolCallId","argsTextDelta"}
//	→ 9:{"toolCallId","toolName","args"} → a:{"toolCallId","result"} → e:{"finishReason","usage"} → d:{"finishReason","usage"}
//
// A stream is a run, and d ends it. A step is an answer of the model: a message, from f
// to e. Some servers send neither. The line 9 completes a call, also where b and c have
// streamed it. A call without it is complete only if its args are whole JSON when the
// step ends.
//
// The line 3 is an error of the step, or of a tool that the line does not name. Other
// tools may still return results after it, so the message fails when its step ends, and
// the run with d. Where no step is open, nothing follows the error.
//
// assistant-ui adds codes that begin with aui-, and members: isFinal of c ends the args of
// a call, a has isError, and isPreliminary where it is progress.
package aisdk4

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format ai-sdk-v4.
func Format() wire.Format {
	return wire.Format{
		Name: "ai-sdk-v4", Shape: "openai",
		Keys:      []string{"0", "g", "3", "9", "a", "b", "c", "d", "e", "f"},
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

// claims claims events by their names, which no other format has.
func claims(f wire.Frame) wire.Claim {
	v := f.JSON
	switch f.Name {
	case "0", "g":
		return wire.SurelyIf(v.IsString(), wire.IfKnown)
	case "3":
		return wire.SurelyIf(v.IsString() || v.Member("message").IsString(), wire.IfKnown)
	case "9", "a", "b", "c":
		return wire.SurelyIf(v.Member("toolCallId").IsString(), wire.IfKnown)
	case "d", "e":
		return wire.SurelyIf(v.Member("finishReason").IsString(), wire.IfKnown)
	case "f":
		return wire.SurelyIf(v.Member("messageId").IsString(), wire.IfKnown)
	}
	if f.Done || f.Name != "" {
		return wire.IfKnown
	}
	return wire.No
}

type decoder struct {
	Message string // id of the message of the step
	Open    bool   // a step has begun and not ended
	Run     bool   // a step has begun since the last d
	Failure string // text of the last error since then
	Failed  bool   // there was an error since then
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Text("m", &d.Message)
	f.Flag("o", &d.Open)
	f.Flag("r", &d.Run)
	f.Text("e", &d.Failure)
	f.Flag("x", &d.Failed)
}

// Decode emits the chunks of a frame. Codes without a part in the conversation are
// ignored: data, annotations, sources, files and signatures.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	if f.Done {
		w.Emit(chunks.Chunk{Kind: chunks.Done})
		return nil
	}
	switch f.Name {
	case "0":
		return d.content(w, chunks.Text, f.JSON)
	case "g":
		return d.content(w, chunks.Reasoning, f.JSON)
	case "j": // the signature of a reasoning ends it
		if d.Open {
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Message: d.Message})
		}
	case "3":
		d.failure(w, f.JSON)
	case "f":
		return d.startStep(w, f.JSON)
	case "e":
		if d.Open {
			d.endStep(w, w.Text(f.JSON.Member("finishReason")), f.JSON.Member("usage"))
		}
	case "d":
		d.finish(w, f.JSON)
	case "9", "a", "b", "c":
		return d.call(w, f.Name, f.JSON)
	case "aui-text-delta":
		return d.content(w, chunks.Text, f.JSON.Member("textDelta"))
	case "aui-reasoning-delta":
		return d.content(w, chunks.Reasoning, f.JSON.Member("reasoningDelta"))
	case "aui-tool-call-approval":
		return d.approval(w, f.JSON)
	case "2", "8", "h", "i", "k", "aui-state", "aui-data", "aui-reasoning-part-start":
	default:
		w.Unknown("line", f.Name, f.JSON)
	}
	return nil
}

func (d *decoder) content(w *wire.Writer, kind chunks.Kind, v jsonscan.Value) *wire.Problem {
	if !v.IsString() {
		return wire.WrongType("the content", v, "a string")
	}
	if s := w.Text(v); s != "" {
		d.begin(w)
		w.Emit(chunks.Chunk{Kind: kind, Message: d.Message, Text: s})
	}
	return nil
}

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	switch slots := (wire.Slots{wire.CallSlot: {"toolCallId"}, wire.ArgsSlot: {"argsTextDelta"}}); f.Name {
	case "0", "g":
		s.Add(at, wire.TextSlot)
	case "c":
		s.Walk(at, slots.At)
		return 0, !f.JSON.Member("isFinal").Present()
	}
	return 0, true
}

// Fill completes the chunk of a delta, which belongs to the message of the open step.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return d.Open && (c.Kind != chunks.Fragment || c.ID != "")
}

// startStep begins a step, {"messageId"}. Steps that continue an answer have the same
// id.
func (d *decoder) startStep(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	id := v.Member("messageId")
	if !id.IsString() {
		return wire.WrongType("messageId", id, "a string")
	}
	if d.Open { // the end of the last step was lost
		d.endStep(w, "", jsonscan.Value{})
	}
	d.Message = wire.Keep(w.Text(id))
	d.begin(w)
	return nil
}

// begin begins a step, unless one is open: some servers send only content.
func (d *decoder) begin(w *wire.Writer) {
	if d.Open {
		return
	}
	d.Open, d.Run, d.Failed, d.Failure = true, true, false, ""
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Role: "assistant", Fresh: true})
}

// endStep emits the end of the message of the step. It is Truncated with any reason,
// because the line 9 completes calls, and the end of the step does not.
func (d *decoder) endStep(w *wire.Writer, reason string, usage jsonscan.Value) {
	id := d.Message
	if usage.IsObject() {
		w.Emit(chunks.Chunk{Kind: chunks.Usage, Message: id, Usage: w.Compact(usage.Raw)})
	}
	if d.Failed {
		w.Emit(chunks.Chunk{Kind: chunks.Failure, Message: id, Text: d.Failure})
	} else {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: id, Reason: reason, Truncated: true})
	}
	d.Open, d.Message = false, ""
}

// finish ends the stream, {"finishReason","usage"}. The usage is the sum over all steps.
// It is that of the message only where the step has no end of its own.
func (d *decoder) finish(w *wire.Writer, v jsonscan.Value) {
	reason := w.Text(v.Member("finishReason"))
	if d.Open {
		d.endStep(w, reason, v.Member("usage"))
	}
	end := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"}
	if d.Failed || reason == "error" {
		end.Status, end.Text = "error", d.Failure
	}
	if d.Run {
		w.Emit(end)
	}
	*d = decoder{}
}

// failure records an error of the open step. Where none is open, the error is all that
// the stream has.
func (d *decoder) failure(w *wire.Writer, v jsonscan.Value) {
	if severity := v.Member("severity").Str; severity == "warning" || severity == "info" { // of assistant-ui
		return
	}
	text := cmp.Or(w.Text(v.Member("error")), w.FailureText(v))
	if d.Open {
		d.Failed, d.Failure = true, strings.ToValidUTF8(wire.Keep(text), "")
		return
	}
	if !d.Run {
		w.Emit(chunks.Chunk{Kind: chunks.RunStart})
	}
	*d = decoder{}
	w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: text})
}

func (d *decoder) call(w *wire.Writer, code string, v jsonscan.Value) *wire.Problem {
	var call, name, delta, args, result, failed, final, preliminary jsonscan.Value
	v.Read(
		call.From("toolCallId"), name.From("toolName"), delta.From("argsTextDelta"), args.From("args"),
		result.From("result"), failed.From("isError"), final.From("isFinal"), preliminary.From("isPreliminary"),
	)
	id := w.Text(call)
	if !call.IsString() || id == "" {
		return wire.WrongType("toolCallId", call, "a string that is not empty")
	}
	switch code {
	case "a":
		d.result(w, id, result, failed, preliminary.Kind == jsonscan.True)
		return nil
	case "c":
		return d.delta(w, id, delta, final.Kind == jsonscan.True)
	}
	d.begin(w)
	c := chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, ID: id, Name: w.Text(name), Final: true}
	if code == "9" {
		c.Whole = true
		if args.Present() {
			c.Args, c.Object = w.Compact(args.Raw), args.IsObject()
		} else {
			w.UnknownMembers("the line", v, "toolCallId", "toolName")
		}
	}
	w.Emit(c)
	return nil
}

func (d *decoder) delta(w *wire.Writer, id string, v jsonscan.Value, final bool) *wire.Problem {
	if !v.IsString() {
		return wire.WrongType("argsTextDelta", v, "a string")
	}
	if s := w.Text(v); s != "" {
		d.begin(w)
		w.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, ID: id, Args: s, Opens: true})
	}
	if final { // 9 may still have the args as a whole
		w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: d.Message, ID: id, Restated: chunks.RestatedSoon})
	}
	return nil
}

// approval reads {"toolCallId","approval":{"id","approved"?}}.
func (d *decoder) approval(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var call, approval, id, approved jsonscan.Value
	v.Read(call.From("toolCallId"), approval.From("approval"))
	approval.Read(id.From("id"), approved.From("approved"))
	switch {
	case !call.IsString() || !id.IsString():
		return wire.WrongShape("toolCallId or approval.id is missing; both must be strings")
	case approved.Kind == jsonscan.True:
		w.Emit(chunks.Chunk{Kind: chunks.Resume, InterruptID: w.Text(id)})
	case approved.Kind == jsonscan.False:
		w.Emit(chunks.Chunk{Kind: chunks.Result, ID: w.Text(call), Status: "denied", Text: "The tool call was denied."})
	default:
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: w.Text(call), Why: "approval", InterruptID: w.Text(id)})
	}
	return nil
}

func (d *decoder) result(w *wire.Writer, id string, v, failed jsonscan.Value, preliminary bool) {
	c := chunks.Chunk{Kind: chunks.Result, ID: id}
	if failed.Kind == jsonscan.True || wire.OutputFails(v) {
		c.Status = "error"
	}
	if v.IsString() {
		c.Text = w.Text(v)
	} else if v.Present() {
		c.Content = w.Compact(v.Raw)
	}
	if preliminary {
		c = chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(c.Text + c.Content)}
	}
	w.Emit(c)
}
