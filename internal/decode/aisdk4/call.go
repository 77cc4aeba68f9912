package aisdk4

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) call(w *wire.Writer, code string, v jsonscan.Value) *wire.Problem {
	var call, name, delta, args, result jsonscan.Value
	v.Read(
		call.From("toolCallId"), name.From("toolName"), delta.From("argsTextDelta"), args.From("args"),
		result.From("result"),
	)
	id := w.Text(call)
	if !call.IsString() || id == "" {
		return wire.WrongType("toolCallId", call, "a string that is not empty")
	}
	switch code {
	case "a":
		d.result(w, id, result)
		return nil
	case "c":
		return d.delta(w, id, delta)
	}
	d.begin(w)
	c := chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, ID: id, Name: w.Text(name), Final: true}
	if code == "9" {
		// The text of the deltas has precedence where it is whole: args is the
		// parsed text.
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

func (d *decoder) delta(w *wire.Writer, id string, v jsonscan.Value) *wire.Problem {
	if !v.IsString() {
		return wire.WrongType("argsTextDelta", v, "a string")
	}
	if s := w.Text(v); s != "" {
		d.begin(w)
		w.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, ID: id, Args: s, Opens: true})
	}
	return nil
}

func (d *decoder) result(w *wire.Writer, id string, v jsonscan.Value) {
	c := chunks.Chunk{Kind: chunks.Result, ID: id}
	if v.IsString() {
		c.Text = w.Text(v)
	} else if v.Present() {
		c.Content = w.Compact(v.Raw)
	}
	w.Emit(c)
}
