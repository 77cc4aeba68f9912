package geminicli

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// Decode emits the chunks of a frame. An event of type error is a warning, or an error
// after which the program goes on, and has no chunk.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	r := reader{w, d}
	switch e.kind.Str {
	case "init":
		r.start()
	case "message":
		return r.message(&e)
	case "tool_use":
		return r.call(&e, f.JSON)
	case "tool_result":
		return r.result(&e)
	case "result":
		r.end(&e)
	case "error":
	default:
		r.Unknown("event", e.kind.Str, f.JSON)
	}
	return nil
}

type reader struct {
	*wire.Writer
	d *Decoder
}

// start begins a run. A process that was killed has not written its end.
func (r reader) start() {
	if r.d.Run {
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: "the program ended without a result"})
	}
	*r.d = Decoder{Run: true}
	r.Emit(chunks.Chunk{Kind: chunks.RunStart, Explicit: true})
}

func (r reader) message(e *event) *wire.Problem {
	if !e.content.IsString() {
		return wire.WrongType("content", e.content, "a string")
	}
	if e.role.Str == "user" {
		r.Emit(chunks.Chunk{Kind: chunks.Human, Text: r.Text(e.content)})
		return nil
	}
	if s := r.Text(e.content); s != "" {
		r.begin()
		r.d.Written = true
		r.Emit(chunks.Chunk{Kind: chunks.Text, Part: r.d.Part, Text: s})
	}
	return nil
}

func (r reader) begin() {
	if r.d.Open && !r.d.Answered {
		return
	}
	*r.d = Decoder{Run: true, Open: true}
	r.Emit(chunks.Chunk{Kind: chunks.Start, Role: "assistant", Fresh: true})
}

// call emits a call, which is complete. v is the JSON of its event.
func (r reader) call(e *event, v jsonscan.Value) *wire.Problem {
	id := r.Text(e.tool)
	if !e.tool.IsString() || id == "" {
		return wire.WrongType("tool_id", e.tool, "a string that is not empty")
	}
	r.begin()
	if r.d.Written {
		r.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: r.d.Part})
		r.d.Part, r.d.Written = r.d.Part+1, false
	}
	c := chunks.Chunk{Kind: chunks.Fragment, ID: id, Name: r.Text(e.name), Final: true, Opens: true}
	if e.parameters.Present() {
		c.Args, c.Object = r.Compact(e.parameters.Raw), true
	} else {
		r.UnknownMembers("the event", v, "type", "tool_id", "tool_name")
	}
	r.Emit(c)
	r.Emit(chunks.Chunk{Kind: chunks.Seal, ID: id})
	return nil
}

// result emits a result. A failed one has its text in output, in the error, or in both.
func (r reader) result(e *event) *wire.Problem {
	id := r.Text(e.tool)
	if !e.tool.IsString() || id == "" {
		return wire.WrongType("tool_id", e.tool, "a string that is not empty")
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: id}
	if e.status.Str == "error" {
		c.Status = "error"
	}
	switch {
	case e.output.IsNested():
		c.Content = r.Compact(e.output.Raw)
	case e.output.Present():
		c.Text = r.Text(e.output)
	case e.failure.Present():
		c.Text = r.FailureText(e.failure)
	}
	r.d.Answered = r.d.Open
	r.Emit(c)
	return nil
}

// end ends the run. The stats are the sum over all messages and belong to none.
func (r reader) end(e *event) {
	c := chunks.Chunk{Kind: chunks.RunEnd, Status: "completed", Abandons: true}
	if e.status.Str != "success" {
		c.Status, c.Text, c.Abandons = "error", r.FailureText(e.failure), false
		kind := r.Text(e.failure.Member("type"))
		if strings.Contains(kind, "Cancel") { // FatalCancellationError
			c.Status = "cancelled"
		}
		if kind != "" && kind != c.Text {
			c.Text = r.Join(kind, ": ", c.Text)
		}
	}
	*r.d = Decoder{}
	r.Emit(c)
}
