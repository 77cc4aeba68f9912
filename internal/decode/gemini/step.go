package gemini

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

type stepFields struct {
	kind, id, call, name, args, text, content, summary, result, failed jsonscan.Value
}

func (f *stepFields) read(part jsonscan.Value) {
	part.Read(
		f.kind.From("type"), f.id.From("id"), f.call.From("call_id"), f.call.From("tool_call_id"), // the first version of the API has both
		f.name.From("name"), f.args.From("arguments"), f.text.From("text"), f.text.From("thought"),
		f.content.From("content"), f.summary.From("summary"), f.result.From("result"),
		f.failed.From("is_error"),
	)
}

func (d *interactionsDecoder) part(w *wire.Writer, index, part jsonscan.Value) *wire.Problem {
	var f stepFields
	f.read(part)
	switch kind := f.kind.Str; {
	case kind == "arguments_delta", strings.HasSuffix(kind, "_call"):
		return d.call(w, index, &f, part)
	case strings.HasSuffix(kind, "_result"):
		return d.emitResult(w, &f)
	case kind == "text", kind == "model_output":
		d.emitText(w, chunks.Text, index, f.text)
		d.emitText(w, chunks.Text, index, f.content)
	case kind == "thought", kind == "thought_summary":
		d.emitText(w, chunks.Reasoning, index, f.text)
		d.emitText(w, chunks.Reasoning, index, f.content)
		d.emitText(w, chunks.Reasoning, index, f.summary)
	case f.result.Present():
		w.UnknownCall("step", kind, "result")
	default:
		w.Unknown("step", kind, part)
	}
	return nil
}

// emitText emits a string, or each text in an object or a list of objects.
func (d *interactionsDecoder) emitText(w *wire.Writer, kind chunks.Kind, index, v jsonscan.Value) {
	if v.IsObject() {
		v = v.Member("text")
	}
	for e := v.Elements(); e.Next(); {
		if s := e.Value.Member("text"); s.IsString() {
			d.emitText(w, kind, index, s)
		}
	}
	w.EmitText(chunks.Chunk{Kind: kind, Message: d.Message, Part: index.Int()}, v)
}

// call emits the beginning of a call or args of it. Args are text, or an object that
// is whole. An empty object at the beginning means that the args follow.
func (d *interactionsDecoder) call(w *wire.Writer, index jsonscan.Value, f *stepFields, part jsonscan.Value) *wire.Problem {
	c, args := chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, Index: index.Raw}, f.args
	kind := f.kind.Str
	if c.Exact = kind == "arguments_delta"; !c.Exact {
		d.Kind = wire.CallBlock
		c.ID, c.Name = w.Text(f.id), w.Text(f.name)
		switch kind {
		case "function_call":
		case "mcp_server_tool_call":
			c.CallKind, c.Provider = "mcp", true
		default: // Google runs the call
			c.CallKind, c.Provider, c.Name = "server", true, strings.TrimSuffix(kind, "_call")
		}
		c.Final = c.ID != "" || c.Name != ""
	}
	if !args.Present() {
		w.UnknownMembers("the step", part, "call_id", "tool_call_id")
	}
	if args.Present() && !args.IsObject() && !args.IsString() {
		return wire.WrongType("arguments", args, "a string or an object")
	}
	if w.SetArgs(&c, args); c.Object && c.Args == "{}" {
		c.Object, c.Args = false, ""
	}
	w.EmitCall(c)
	return nil
}

// emitResult emits a result once it is complete: the beginning of the step names the
// call, and a delta may contain the rest.
func (d *interactionsDecoder) emitResult(w *wire.Writer, f *stepFields) *wire.Problem {
	if s := w.Text(f.call); s != "" {
		d.Call = wire.Keep(s)
	}
	if s := w.Text(f.name); s != "" {
		d.Name = wire.Keep(s)
	}
	if !f.result.Present() {
		return nil
	}
	if d.Call == "" {
		return wire.WrongShape("the result names no call: call_id is missing or empty")
	}
	c := chunks.Chunk{Kind: chunks.Result, ID: d.Call, Name: d.Name, Status: "success"}
	if f.failed.Kind == jsonscan.True {
		c.Status = "error"
	}
	c.Content, c.Text = w.ContentOf(f.result)
	w.Emit(c)
	return nil
}
