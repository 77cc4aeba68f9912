// Package geminicli reads the output of Gemini CLI with --output-format stream-json:
// https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/output/types.ts
//
//	init{session_id,model} → message{role:"user"} → message{role:"assistant",content,delta} → tool_use{tool_name,tool_id,parameters}
//	→ tool_result{tool_id,status,output?,error?} → result{status,error?,stats?}
//
// A process is a run, from init to result. The output has no message ids and no end of a
// message: the first text or call after a result begins the next message. Calls come
// whole.
//
// The program reports a call that it cancelled as a success without output. Such a
// result cannot be distinguished from that of a tool without output, and is read as
// it is. The run then ends as cancelled.
package geminicli

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format gemini-cli.
func Format() wire.Format {
	return wire.Format{
		Name: "gemini-cli", Shape: "openai",
		Keys:      []string{"timestamp", "tool_id"},
		Claims:    claims,
		Console:   true,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: wire.Slots{wire.TextSlot: {"content"}, wire.Unread: {"timestamp"}}.Of("message"),
	}
}

// claims claims events. All of them have a timestamp, which those of similar programs do not have. Some programs that forward
// them leave it out.
func claims(f wire.Frame) wire.Claim {
	var e event
	e.read(f)
	has := false
	switch e.kind.Str {
	case "init":
		has = e.session.IsString()
	case "message":
		has = e.role.IsString() && e.content.IsString()
	case "tool_use":
		has = e.name.IsString() && e.tool.IsString()
	case "tool_result":
		has = e.tool.IsString()
	case "error":
		has = e.severity.IsString()
	case "result":
		has = e.status.IsString()
	}
	if has || e.timestamp.IsString() && e.kind.IsString() { // of a later version
		return wire.SurelyIf(has && (e.timestamp.IsString() || e.tool.IsString()), wire.IfKnown)
	}
	return wire.No
}

type event struct {
	kind, timestamp, session, role, content, name, tool, parameters jsonscan.Value
	status, output, failure, severity                               jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.kind.From("type"), e.timestamp.From("timestamp"), e.session.From("session_id"),
		e.role.From("role"), e.content.From("content"), e.name.From("tool_name"), e.tool.From("tool_id"),
		e.parameters.From("parameters"), e.status.From("status"), e.output.From("output"),
		e.failure.From("error"), e.severity.From("severity"),
	)
}

type decoder struct {
	Run      bool // a process has begun and not ended
	Open     bool // a message has begun
	Answered bool // a call of the message has its result
	Part     int  // number of the text of the message
	Written  bool // that text has begun
}

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Run)
	f.Flag("o", &d.Open)
	f.Flag("a", &d.Answered)
	stored.Number(f, "p", &d.Part)
	f.Flag("w", &d.Written)
}

// Fill completes the chunk of a text, which belongs to the open message.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	if !d.Open || d.Answered {
		return false
	}
	d.Written, c.Part = true, d.Part
	return true
}

// Decode emits the chunks of a frame. An event of type error is a warning, or an error
// after which the program goes on, and has no chunk.
func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	switch e.kind.Str {
	case "init":
		w.StartRun(d.Run)
		*d = decoder{Run: true}
	case "message":
		return d.message(w, &e)
	case "tool_use", "tool_result":
		id := w.Text(e.tool)
		if !e.tool.IsString() || id == "" {
			return wire.WrongType("tool_id", e.tool, "a string that is not empty")
		}
		if e.kind.Str == "tool_use" {
			d.call(w, id, &e, f.JSON)
		} else {
			d.result(w, id, &e)
		}
	case "result":
		d.end(w, &e)
	case "error":
	default:
		w.Unknown("event", e.kind.Str, f.JSON)
	}
	return nil
}

func (d *decoder) message(w *wire.Writer, e *event) *wire.Problem {
	if !e.content.IsString() {
		return wire.WrongType("content", e.content, "a string")
	}
	if e.role.Str == "user" {
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.Text(e.content)})
		return nil
	}
	if s := w.Text(e.content); s != "" {
		d.begin(w)
		d.Written = true
		w.Emit(chunks.Chunk{Kind: chunks.Text, Part: d.Part, Text: s})
	}
	return nil
}

func (d *decoder) begin(w *wire.Writer) {
	if d.Open && !d.Answered {
		return
	}
	w.StartMessage(d.Open, chunks.Chunk{})
	*d = decoder{Run: true, Open: true}
}

// call emits a call, which is complete. v is the JSON of its event.
func (d *decoder) call(w *wire.Writer, id string, e *event, v jsonscan.Value) {
	d.begin(w)
	if d.Written {
		w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: d.Part})
		d.Part, d.Written = d.Part+1, false
	}
	c := chunks.Chunk{Kind: chunks.Fragment, ID: id, Name: w.Text(e.name), Final: true, Opens: true}
	if e.parameters.Present() {
		c.Args, c.Object = w.Compact(e.parameters.Raw), true
	} else {
		w.UnknownMembers("the event", v, "type", "tool_id", "tool_name")
	}
	w.EmitWhole(c)
}

// result emits a result. A failed one has its text in output, in the error, or in both.
func (d *decoder) result(w *wire.Writer, id string, e *event) {
	c := chunks.Chunk{Kind: chunks.Result, ID: id}
	if e.status.Str == "error" {
		c.Status = "error"
	}
	switch {
	case e.output.IsNested():
		c.Content = w.Compact(e.output.Raw)
	case e.output.Present():
		c.Text = w.Text(e.output)
	case e.failure.Present():
		c.Text = w.FailureText(e.failure)
	}
	d.Answered = d.Open
	w.Emit(c)
}

// end ends the run. The stats are the sum over all messages and belong to none.
func (d *decoder) end(w *wire.Writer, e *event) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed", Abandons: true}
	if e.status.Str != "success" {
		c.Status, c.Text, c.Abandons = "error", w.FailureText(e.failure), false
		kind := w.Text(e.failure.Member("type"))
		if strings.Contains(kind, "Cancel") { // FatalCancellationError
			c.Status = "cancelled"
		}
		if kind != "" && kind != c.Text {
			c.Text = w.Join(kind, ": ", c.Text)
		}
	}
	*d = decoder{}
	w.Emit(c)
}
