package aisdk4

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r reader) call(code string, v jsonscan.Value) *wire.Problem {
	var call, name, delta, args, result jsonscan.Value
	v.Read(
		call.From("toolCallId"), name.From("toolName"), delta.From("argsTextDelta"), args.From("args"),
		result.From("result"),
	)
	id := r.Text(call)
	if !call.IsString() || id == "" {
		return wire.WrongType("toolCallId", call, "a string that is not empty")
	}
	switch code {
	case "a":
		r.result(id, result)
		return nil
	case "c":
		return r.delta(id, delta)
	}
	r.begin()
	c := chunks.Chunk{Kind: chunks.Fragment, Message: r.d.Message, ID: id, Name: r.Text(name), Final: true}
	if code == "9" {
		// The text of the deltas has precedence where it is whole: args is the
		// parsed text.
		c.Whole = true
		if args.Present() {
			c.Args, c.Object = r.Compact(args.Raw), args.IsObject()
		} else {
			r.UnknownMembers("the line", v, "toolCallId", "toolName")
		}
	}
	r.Emit(c)
	return nil
}

func (r reader) delta(id string, v jsonscan.Value) *wire.Problem {
	if !v.IsString() {
		return wire.WrongType("argsTextDelta", v, "a string")
	}
	if s := r.Text(v); s != "" {
		r.begin()
		r.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: r.d.Message, ID: id, Args: s, Opens: true})
	}
	return nil
}

func (r reader) result(id string, v jsonscan.Value) {
	c := chunks.Chunk{Kind: chunks.Result, ID: id}
	if v.IsString() {
		c.Text = r.Text(v)
	} else if v.Present() {
		c.Content = r.Compact(v.Raw)
	}
	r.Emit(c)
}
