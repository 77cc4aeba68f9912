package geminicli

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

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
	case "tool_use":
		return d.call(w, &e, f.JSON)
	case "tool_result":
		return d.result(w, &e)
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
	*d = decoder{Run: true, Open: true}
	w.Emit(chunks.Chunk{Kind: chunks.Start, Role: "assistant", Fresh: true})
}

// call emits a call, which is complete. v is the JSON of its event.
func (d *decoder) call(w *wire.Writer, e *event, v jsonscan.Value) *wire.Problem {
	id := w.Text(e.tool)
	if !e.tool.IsString() || id == "" {
		return wire.WrongType("tool_id", e.tool, "a string that is not empty")
	}
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
	w.Emit(c)
	w.Emit(chunks.Chunk{Kind: chunks.Seal, ID: id})
	return nil
}

// result emits a result. A failed one has its text in output, in the error, or in both.
func (d *decoder) result(w *wire.Writer, e *event) *wire.Problem {
	id := w.Text(e.tool)
	if !e.tool.IsString() || id == "" {
		return wire.WrongType("tool_id", e.tool, "a string that is not empty")
	}
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
	return nil
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
