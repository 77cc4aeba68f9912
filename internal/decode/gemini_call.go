package decode

import (
	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
)

// geminiCall emits a whole call, or a piece of the one that is open. server
// says that Google runs it; its name is then that of the kind of tool.
func (r *Reader) geminiCall(of choice, call gjson.Result, server bool) *Problem {
	var id, name, args, pieces, more gjson.Result
	for m := members(call); m.next(); {
		switch m.key {
		case "id":
			id = m.value
		case "name", "toolType", "tool_type":
			name = m.value
		case "args":
			args = m.value
		case "partialArgs", "partial_args":
			pieces = m.value
		case "willContinue", "will_continue":
			more = m.value
		}
	}
	goesOn := more.Type == gjson.True
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.message, Choice: of.index,
		ID: r.text(id), Name: r.text(name), Final: true, Opens: true, Provider: server,
	}
	if server {
		c.CallKind = "server"
	}
	switch {
	case present(args) && !isObject(args) && !isString(args):
		return wrongType("functionCall.args", args, "an object")
	case c.Name == "" && present(args):
		return wrongType("functionCall.name", name, "a string that is not empty")
	case c.Name == "":
		return r.geminiPieces(of, pieces, goesOn)
	}
	r.geminiBegin(of)
	mem := partOf(&r.mem.Gemini)
	if mem.Open {
		r.geminiCloseCall(of.message) // one call at a time: this one has all its args
	}
	if goesOn || present(pieces) {
		mem.Open, mem.Choice, mem.Args = true, of.index, GeminiArgs{}
		r.emit(c)
		return r.geminiPieces(of, pieces, goesOn)
	}
	c.Object, c.Args = true, "{}" // what no args at all mean
	switch {
	case isObject(args):
		c.Args = r.compact(args.Raw)
	case isString(args): // of a layer that kept the text
		c.Object, c.Args = false, r.text(args)
	}
	r.emit(c)
	r.emit(chunks.Chunk{Kind: chunks.Seal, Message: of.message, Choice: of.index, ID: c.ID})
	return nil
}

// geminiPieces takes pieces of the open call's args. One that cannot be put in
// its place spoils the call: its text ends there and is never whole.
func (r *Reader) geminiPieces(of choice, pieces gjson.Result, goesOn bool) (first *Problem) {
	mem := partOf(&r.mem.Gemini)
	if !mem.Open || mem.Choice != of.index {
		if present(pieces) {
			return &Problem{Code: BadShape, Text: "functionCall.partialArgs has pieces, but no call is open that they could be of"}
		}
		return nil
	}
	c := chunks.Chunk{Kind: chunks.Fragment, Message: of.message, Choice: of.index}
	if present(pieces) && !isArray(pieces) {
		first = wrongType("functionCall.partialArgs", pieces, "an array")
		c.Args = mem.Args.spoil()
		r.emit(c)
	}
	for e := elements(pieces); e.next(); {
		text, p := r.geminiPiece(&mem.Args, e.value)
		if p != nil && first == nil {
			first = p
		}
		if c.Args = text; text != "" {
			r.emit(c)
		}
	}
	if !goesOn {
		r.geminiCloseCall(of.message)
	}
	return first
}

// geminiCloseCall ends the open call: what its args have open is closed.
func (r *Reader) geminiCloseCall(message string) {
	mem := partOf(&r.mem.Gemini)
	c := chunks.Chunk{Kind: chunks.Fragment, Message: message, Choice: mem.Choice}
	if !mem.Args.Spoilt {
		c.Args = r.closeArgs(&mem.Args)
	}
	if c.Args != "" {
		r.emit(c)
	}
	r.emit(chunks.Chunk{Kind: chunks.Seal, Message: message, Choice: mem.Choice})
	mem.Open, mem.Args = false, GeminiArgs{}
}
