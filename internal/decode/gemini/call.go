package gemini

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type callFields struct {
	id, name, args, pieces jsonscan.Value
	continues              bool // more pieces of the args follow
}

func (f *callFields) read(w *wire.Writer, call jsonscan.Value) {
	var continues jsonscan.Value
	w.ReadKnown("functionCall", call,
		f.id.From("id"), f.name.From("name"), f.name.From("toolType"), f.name.From("tool_type"), f.args.From("args"),
		f.pieces.From("partialArgs"), f.pieces.From("partial_args"),
		continues.From("willContinue"), continues.From("will_continue"),
	)
	f.continues = continues.Kind == jsonscan.True
}

// call emits a whole call, or a piece of the open call. If server is true, Google
// runs the call, and its name is the type of the tool.
func (d *decoder) call(w *wire.Writer, of wire.Choice, call jsonscan.Value, server bool) *wire.Problem {
	var f callFields
	f.read(w, call)
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.Message, Choice: of.Index,
		ID: w.Text(f.id), Name: w.Text(f.name), Final: true, Opens: true, Provider: server,
	}
	if server {
		c.CallKind = "server"
	}
	switch {
	case f.args.Present() && !f.args.IsObject() && !f.args.IsString():
		return wire.WrongType("functionCall.args", f.args, "an object")
	case c.Name == "" && f.args.Present():
		return wire.WrongType("functionCall.name", f.name, "a string that is not empty")
	case c.Name == "":
		return d.pieces(w, of, f.pieces, f.continues)
	}
	d.begin(w, of)
	if d.Open {
		d.closeCall(w, of.Message) // calls are sequential, so the open call has all its args
	}
	if f.continues || f.pieces.Present() {
		d.Open, d.Choice, d.Args = true, of.Index, Args{}
		w.Emit(c)
		return d.pieces(w, of, f.pieces, f.continues)
	}
	c.Object, c.Args = true, "{}" // for a call without args
	switch {
	case f.args.IsObject():
		c.Args = w.Compact(f.args.Raw)
	case f.args.IsString():
		c.Object, c.Args = false, w.Text(f.args)
	}
	w.Emit(c)
	w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: of.Message, Choice: of.Index, ID: c.ID})
	return nil
}

// pieces emits pieces of the args of the open call. A piece that does not follow
// the text so far makes the args invalid: the text ends there and stays incomplete.
func (d *decoder) pieces(w *wire.Writer, of wire.Choice, pieces jsonscan.Value, continues bool) (first *wire.Problem) {
	if !d.Open || d.Choice != of.Index {
		if pieces.Present() {
			return &wire.Problem{Code: wire.BadShape, Text: "functionCall.partialArgs has pieces, but no call is open that they could be of"}
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
		if p != nil && first == nil {
			first = p
		}
		if c.Args = text; text != "" {
			w.Emit(c)
		}
	}
	if !continues {
		d.closeCall(w, of.Message)
	}
	return first
}

func (d *decoder) closeCall(w *wire.Writer, message string) {
	c := chunks.Chunk{Kind: chunks.Fragment, Message: message, Choice: d.Choice}
	if !d.Args.Invalid {
		c.Args = d.closeArgs(w, &d.Args)
	}
	if c.Args != "" {
		w.Emit(c)
	}
	w.Emit(chunks.Chunk{Kind: chunks.Seal, Message: message, Choice: d.Choice})
	d.Open, d.Args = false, Args{}
}
