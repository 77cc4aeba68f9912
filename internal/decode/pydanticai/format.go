// Package pydanticai reads the stream events of Pydantic AI, AgentStreamEvent, as its type
// adapter writes them: https://ai.pydantic.dev/api/messages/#pydantic_ai.messages.AgentStreamEvent
//
//	{"event_kind":"part_start","index","part":{"part_kind":"tool-call","tool_name","args","tool_call_id"}}
//	→ part_delta{index,delta:{part_delta_kind:"tool_call",args_delta}} … → part_end{index,next_part_kind}
//	→ function_tool_call{part} … → function_tool_result{part:{part_kind:"tool-return|retry-prompt",tool_call_id,content}}
//	→ final_result{tool_name} → agent_run_result
//
// Messages have no ids: the part with the index 0 begins one. Until November 2025 there is
// no part_end, so a part ends with the next event of another. The output tool is a call, and
// its result ends the run.
//
// The parts of part_end and function_tool_call are whole, so their args have precedence
// over those of the deltas. Deltas that are objects are merged (dict.go).
package pydanticai

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Format returns the format pydantic-ai.
func Format() wire.Format {
	return wire.Format{
		Name: "pydantic-ai", Shape: "openai",
		Keys:   []string{"event_kind"},
		Claims: claims,
		New:    func() wire.Decoder { return new(decoder) },
	}
}

func claims(f wire.Frame) wire.Claim {
	var e event
	e.read(f)
	switch e.kind.Str {
	case "part_start", "part_delta", "part_end", "final_result", "agent_run_result", "function_tool_call", "function_tool_result",
		"output_tool_call", "output_tool_result", "builtin_tool_call", "builtin_tool_result":
		return wire.Surely
	}
	if e.kind.IsString() {
		return wire.IfKnown
	}
	return wire.No
}

type event struct {
	kind, index, part, delta, next, tool jsonscan.Value
}

func (e *event) read(f wire.Frame) {
	f.Read(
		e.index.From("index"), e.part.From("part"), e.part.From("result"), e.delta.From("delta"), e.next.From("next_part_kind"),
		e.tool.From("tool_name"), e.kind.From("event_kind"),
	)
}

type decoder struct {
	Open    bool   // a message has begun
	Final   bool   // its text is the result of the run, or may be its last
	Started uint32 // a bit for each of its parts that has begun, by its index
	Dicts   []Dict // the args of its calls that come as objects
}

// bit returns the bit of a part in decoder.Started. The last one is that of all further parts.
func bit(index jsonscan.Value) uint32 { return 1 << min(uint(index.Int()), 31) }

func (d *decoder) Fields(f *stored.Fields) {
	f.Flag("o", &d.Open)
	f.Flag("f", &d.Final)
	stored.Number(f, "s", &d.Started)
	stored.List(f, "d", &d.Dicts, (*Dict).fields)
}

// silence is how long a final text without an end stays open, in units of
// chunks.Chunk.Wait.
const silence = 10

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	switch kind := e.kind.Str; kind {
	case "part_start":
		if !e.part.IsObject() {
			return wire.WrongType("part", e.part, "an object")
		}
		d.begin(w, e.index.Int() == 0)
		d.Started |= bit(e.index)
		d.part(w, &e)
	case "part_delta":
		if !e.delta.IsObject() {
			return wire.WrongType("delta", e.delta, "an object")
		}
		return d.delta(w, &e)
	case "part_end":
		d.endPart(w, &e)
		if !e.next.Present() {
			d.end(w)
		}
	case "final_result":
		if d.Final = !e.tool.Present(); d.Final {
			d.rest(w)
		}
	case "function_tool_call", "output_tool_call", "builtin_tool_call":
		d.end(w)
		return whole(w, e.part)
	case "function_tool_result", "builtin_tool_result":
		return result(w, e.part)
	case "output_tool_result":
		problem := result(w, e.part)
		if e.part.Member("part_kind").Str == "tool-return" {
			w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"})
		}
		return problem
	case "agent_run_result":
		d.end(w)
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "completed"})
	default:
		w.Unknown("event", kind, f.JSON)
	}
	return nil
}

func (d *decoder) begin(w *wire.Writer, first bool) {
	if first {
		d.end(w)
	}
	if !d.Open {
		w.Emit(chunks.Chunk{Kind: chunks.Start, Role: "assistant", Fresh: true})
	}
	d.Open = true
}

func (d *decoder) end(w *wire.Writer) {
	if d.Open {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Restated: chunks.RestatedBeforeResult})
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	}
	*d = decoder{}
}

func (d *decoder) rest(w *wire.Writer) {
	if d.Final {
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Wait: silence})
	}
}

func (d *decoder) part(w *wire.Writer, e *event) {
	var kind, content jsonscan.Value
	e.part.Read(kind.From("part_kind"), content.From("content"))
	if len(d.Dicts) == 0 { // an object may go on, although it is whole
		w.Emit(chunks.Chunk{Kind: chunks.Next, Index: wire.RawIndex(e.index)})
	}
	switch kind.Str {
	case "text":
		w.EmitText(chunks.Chunk{Kind: chunks.Text, Part: e.index.Int()}, content)
	case "thinking":
		w.EmitText(chunks.Chunk{Kind: chunks.Reasoning, Part: e.index.Int()}, content)
	case "tool-call", "builtin-tool-call":
		c := called(w, e.part)
		c.Index, c.Opens = wire.RawIndex(e.index), true
		if c.Object {
			d.Dicts = append(wire.MakeRoom(d.Dicts, maxDicts), Dict{Index: wire.Keep(c.Index), Args: strings.Clone(c.Args)})
		}
		w.Emit(c)
	case "builtin-tool-return":
		if problem := result(w, e.part); problem != nil {
			w.UnknownCall("part", kind.Str, "content")
		}
	case "file", "compaction":
	default:
		w.Unknown("part", kind.Str, e.part)
	}
}

// endPart ends a part, and emits a call as a whole. Where its part has no args,
// function_tool_call may still have some. One without an id is known by its index.
func (d *decoder) endPart(w *wire.Writer, e *event) {
	kind := e.part.Member("part_kind").Str
	end := chunks.Chunk{Kind: chunks.Seal, Index: wire.RawIndex(e.index)}
	if kind == "tool-call" || kind == "builtin-tool-call" {
		c := called(w, e.part)
		if c.Index = end.Index; c.ID != "" {
			end.Restated = chunks.RestatedBeforeResult
		}
		switch {
		case c.ID == "" && d.Started&bit(e.index) == 0:
			c.Opens = true
		case c.ID == "":
			c.Name, c.Exact, c.Object = "", true, c.Object || wire.Valid(c.Args)
		default:
			c.Final, c.Whole = true, true
		}
		if c.Opens || c.Args != "" && (c.Whole || c.Object) {
			d.begin(w, false)
			w.Emit(c)
		}
	}
	w.Emit(end)
	w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: e.index.Int()})
}

// called returns the fragment of a call. Its args are text or an object.
func called(w *wire.Writer, part jsonscan.Value) chunks.Chunk {
	var kind, id, name, args jsonscan.Value
	part.Read(kind.From("part_kind"), id.From("tool_call_id"), name.From("tool_name"), args.From("args"))
	c := chunks.Chunk{Kind: chunks.Fragment, ID: w.Text(id), Name: w.Text(name)}
	if kind.Str == "builtin-tool-call" {
		c.CallKind, c.Provider = "server", true
	}
	w.SetArgs(&c, args)
	if args.Raw == "" {
		w.UnknownMembers("the part", part, "tool_name", "tool_call_id", "tool_kind")
	}
	return c
}

func (d *decoder) delta(w *wire.Writer, e *event) *wire.Problem {
	var kind, text, args, id, name jsonscan.Value
	e.delta.Read(
		kind.From("part_delta_kind"), text.From("content_delta"), args.From("args_delta"), id.From("tool_call_id"), name.From("tool_name_delta"),
	)
	if !d.Open { // its start is lost, or it is the rest of a message that has ended
		d.begin(w, false)
		d.Final = kind.Str == "text"
	}
	switch kind.Str {
	case "text":
		w.EmitText(chunks.Chunk{Kind: chunks.Text, Part: e.index.Int()}, text)
		d.rest(w)
	case "thinking":
		w.EmitText(chunks.Chunk{Kind: chunks.Reasoning, Part: e.index.Int()}, text)
	case "tool_call", "tool-call": // the latter in the dumps of some versions
		c := chunks.Chunk{Kind: chunks.Fragment, Index: wire.RawIndex(e.index), ID: w.Text(id), Name: w.Text(name), Exact: true}
		if d.Started&bit(e.index) == 0 {
			c.Name = "" // perhaps the end of a name
		}
		if args.IsObject() {
			return d.merge(w, c, args)
		}
		w.SetArgs(&c, args)
		w.EmitCall(c)
	default:
		w.Unknown("delta", kind.Str, e.delta)
	}
	return nil
}

// whole emits a call that runs, which most often was streamed. One without an id, as some
// logs have it, was.
func whole(w *wire.Writer, part jsonscan.Value) *wire.Problem {
	if !part.IsObject() {
		return wire.WrongType("part", part, "an object")
	}
	c := called(w, part)
	if c.ID == "" {
		return nil
	}
	c.Final, c.Whole = true, true
	w.EmitWhole(c)
	return nil
}

// result emits a result. A retry-prompt is an error that the model may repair. One without
// a tool belongs to no call, and one without an id to the oldest call of its tool.
func result(w *wire.Writer, part jsonscan.Value) *wire.Problem {
	if !part.IsObject() {
		return wire.WrongType("part", part, "an object")
	}
	var kind, id, name, content, outcome jsonscan.Value
	part.Read(kind.From("part_kind"), id.From("tool_call_id"), name.From("tool_name"), content.From("content"), outcome.From("outcome"))
	c := chunks.Chunk{Kind: chunks.Result, ID: w.Text(id), Status: "success"}
	switch {
	case kind.Str == "retry-prompt" && !name.Present():
		return nil
	case c.ID == "" && w.Text(name) == "":
		return wire.WrongShape("the result names no call: tool_call_id and tool_name are missing or empty")
	case kind.Str == "retry-prompt", outcome.Str == "failed":
		c.Status = "error"
	case outcome.Str == "denied":
		c.Status = "denied"
	case outcome.Str == "interrupted", outcome.Str == "cancelled":
		c.Status = "cancelled"
	}
	if c.ID == "" {
		c.Name = w.Text(name)
	}
	c.Content, c.Text = w.ContentOf(content)
	w.Emit(c)
	return nil
}
