package gemini

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// geminiCall emits a whole call, or a piece of the one that is open. server
// says that Google runs it; its name is then that of the kind of tool.
func (r reader) geminiCall(of wire.Choice, call jsonscan.Value, server bool) *wire.Problem {
	var id, name, args, pieces, more jsonscan.Value
	for m := call.Members(); m.Next(); {
		switch m.Key {
		case "id":
			id = m.Value
		case "name", "toolType", "tool_type":
			name = m.Value
		case "args":
			args = m.Value
		case "partialArgs", "partial_args":
			pieces = m.Value
		case "willContinue", "will_continue":
			more = m.Value
		}
	}
	goesOn := more.Kind == jsonscan.True
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.Message, Choice: of.Index,
		ID: r.Text(id), Name: r.Text(name), Final: true, Opens: true, Provider: server,
	}
	if server {
		c.CallKind = "server"
	}
	switch {
	case args.Present() && !args.IsObject() && !args.IsString():
		return wire.WrongType("functionCall.args", args, "an object")
	case c.Name == "" && args.Present():
		return wire.WrongType("functionCall.name", name, "a string that is not empty")
	case c.Name == "":
		return r.geminiPieces(of, pieces, goesOn)
	}
	r.geminiBegin(of)
	mem := r.d
	if mem.Open {
		r.geminiCloseCall(of.Message) // one call at a time: this one has all its args
	}
	if goesOn || pieces.Present() {
		mem.Open, mem.Choice, mem.Args = true, of.Index, GeminiArgs{}
		r.Emit(c)
		return r.geminiPieces(of, pieces, goesOn)
	}
	c.Object, c.Args = true, "{}" // what no args at all mean
	switch {
	case args.IsObject():
		c.Args = r.Compact(args.Raw)
	case args.IsString():
		c.Object, c.Args = false, r.Text(args)
	}
	r.Emit(c)
	r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: of.Message, Choice: of.Index, ID: c.ID})
	return nil
}

// geminiPieces takes pieces of the open call's args. One that cannot be put in
// its place spoils the call: its text ends there and is never whole.
func (r reader) geminiPieces(of wire.Choice, pieces jsonscan.Value, goesOn bool) (first *wire.Problem) {
	mem := r.d
	if !mem.Open || mem.Choice != of.Index {
		if pieces.Present() {
			return &wire.Problem{Code: wire.BadShape, Text: "functionCall.partialArgs has pieces, but no call is open that they could be of"}
		}
		return nil
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: of.Message, Choice: of.Index}
	if pieces.Present() && !pieces.IsArray() {
		first = wire.WrongType("functionCall.partialArgs", pieces, "an array")
		c.Args = mem.Args.spoil()
		r.Emit(c)
	}
	for e := pieces.Elements(); e.Next(); {
		text, p := r.geminiPiece(&mem.Args, e.Value)
		if p != nil && first == nil {
			first = p
		}
		if c.Args = text; text != "" {
			r.Emit(c)
		}
	}
	if !goesOn {
		r.geminiCloseCall(of.Message)
	}
	return first
}

// geminiCloseCall ends the open call: what its args have open is closed.
func (r reader) geminiCloseCall(message string) {
	mem := r.d
	c := chunks.Chunk{Kind: chunks.Fragment, Message: message, Choice: mem.Choice}
	if !mem.Args.Spoilt {
		c.Args = r.closeArgs(&mem.Args)
	}
	if c.Args != "" {
		r.Emit(c)
	}
	r.Emit(chunks.Chunk{Kind: chunks.Seal, Message: message, Choice: mem.Choice})
	mem.Open, mem.Args = false, GeminiArgs{}
}
