package vercelui

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) tool(w *wire.Writer, e *event, v jsonscan.Value) *wire.Problem {
	kind := e.kind.Str
	if kind == "tool-approval-response" { // has the id of the approval, not of the call
		return d.answer(w, e)
	}
	if !e.call.Present() { // in the parts of fullStream
		if e.call = e.toolCall.Member("toolCallId"); strings.HasPrefix(kind, "tool-input-") {
			e.call = e.id
		}
	}
	if !e.call.IsString() {
		return wire.WrongType("toolCallId", e.call, "a string")
	}
	id := w.Text(e.call)
	switch kind {
	case "tool-approval-request":
		return d.ask(w, e, id, v)
	case "tool-call-suspended":
		w.Emit(chunks.Chunk{Kind: chunks.Await, ID: id, Why: "interrupt", InterruptID: id})
	case "tool-output-available":
		d.output(w, e, id)
	case "tool-result":
		d.restate(w, e, id, v)
		d.output(w, e, id)
	case "tool-output-error", "tool-error":
		if kind == "tool-error" {
			d.restate(w, e, id, v)
		}
		d.answered(id)
		w.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error", Text: w.FailureText(e.failure)})
	case "tool-output-denied":
		d.answered(id)
		if !d.Denied.Remove(id) { // else its answer has denied it
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "denied", Text: denial})
		}
	default:
		return d.toolInput(w, e, id, v)
	}
	return nil
}

func (d *decoder) toolInput(w *wire.Writer, e *event, id string, v jsonscan.Value) *wire.Problem {
	switch e.kind.Str {
	case "tool-input-start":
		if e.encoding.Str == "text" {
			d.Plain = wire.Keep(id)
		}
		d.Inputs.AddNew(id, maxInputs)
		c := d.fragment(w, e, id)
		c.Opens = true
		w.Emit(c)
	case "tool-input-delta":
		if !e.delta.IsString() {
			return wire.WrongType("inputTextDelta", e.delta, "a string")
		}
		if s := w.Text(e.delta); s != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, ID: id, Args: s, Opens: true})
		}
	case "tool-input-end": // tool-call follows, with the whole input
	case "tool-input-available", "tool-call":
		d.call(w, e, id, v)
	case "tool-input-error":
		d.call(w, e, id, v)
		if e.executed.Kind != jsonscan.True { // the provider runs its own call in spite of the error
			w.Emit(chunks.Chunk{Kind: chunks.Result, ID: id, Status: "error", Text: w.FailureText(e.failure)})
		}
	default:
		w.Unknown("event", e.kind.Str, v)
	}
	return nil
}

func (d *decoder) fragment(w *wire.Writer, e *event, id string) chunks.Chunk {
	c := chunks.Chunk{Kind: chunks.Fragment, Message: d.Message, ID: id, Name: w.Text(e.name), Final: true}
	switch {
	case e.executed.Kind == jsonscan.True:
		c.CallKind, c.Provider = "server", true
	case d.Plain != "" && d.Plain == id[:min(len(id), wire.MaxID)]:
		c.CallKind = "custom"
	}
	return c
}

// call emits a whole call. Its input has precedence over another text that came before.
func (d *decoder) call(w *wire.Writer, e *event, id string, v jsonscan.Value) {
	c := d.fragment(w, e, id)
	c.Whole = true
	d.Inputs.Remove(id)
	switch {
	case !e.input.Present():
		w.UnknownMembers("the event", v, "type", "toolCallId", "toolName", "toolMetadata", "providerMetadata", "callProviderMetadata")
	case !e.input.IsString():
		c.Args, c.Object = w.Compact(e.input.Raw), e.input.IsObject()
	case c.CallKind == "custom", e.kind.Str != "tool-input-available":
		c.Args = w.Text(e.input) // free text, or the text of the args
	default:
		c.Args = e.input.Raw // a JSON value that is a string
	}
	w.Emit(c)
}

// restate emits the call that a result of fullStream repeats.
func (d *decoder) restate(w *wire.Writer, e *event, id string, v jsonscan.Value) {
	if e.mastra {
		v = v.Member("payload")
	}
	switch {
	case e.input.Present() && e.name.IsString():
		d.call(w, e, id, v)
	case e.name.IsString():
		w.UnknownMembers("the result", v, "type", "toolCallId", "toolName", "output", "result", "error", "toolMetadata", "providerMetadata")
	}
}

// output emits a result. A preliminary result is progress.
func (d *decoder) output(w *wire.Writer, e *event, id string) {
	text, content := "", ""
	if e.output.IsString() {
		text = w.Text(e.output)
	} else if e.output.Present() {
		content = w.Compact(e.output.Raw)
	}
	if e.preliminary.Kind == jsonscan.True {
		w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(text + content)})
		return
	}
	d.answered(id)
	c := chunks.Chunk{Kind: chunks.Result, ID: id, Text: text, Content: content}
	if e.failed.Kind == jsonscan.True || wire.IsError(e.output) && e.output.Member("content").IsArray() { // of MCP
		c.Status = "error"
	}
	w.Emit(c)
}
