package gemini

import (
	"cmp"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Interactions returns the format gemini-interactions, the stream of Google's
// Interactions API: https://ai.google.dev/gemini-api/docs/interactions/streaming
//
//	{"event_type":"interaction.created","interaction":{"id","status"}}
//	→ {"event_type":"step.start","index","step":{"type":"function_call","id","name","arguments":{}}}
//	→ {"event_type":"step.delta","index","delta":{"type":"arguments_delta","arguments":"…"}} …
//	→ {"event_type":"step.stop","index"} → {"event_type":"interaction.completed","interaction":{"status","usage"}}
//	{"event_type":"interaction.status_update","status"} and {"event_type":"error","error":{"code","message"}} at any time
//
// Steps are sequential: thought, model_output, calls and results of the tools that
// Google runs (google_search_call, mcp_server_tool_result and others), and
// function_result. The first version of the API has content.start, content.delta
// and content.stop in their place, with whole calls in the deltas, between
// interaction.start and interaction.complete.
func Interactions() wire.Format {
	return wire.Format{
		Name: "gemini-interactions", Shape: "openai",
		Keys:      []string{"event_type"},
		Claims:    claimsInteraction,
		New:       func() wire.Decoder { return new(interactionsDecoder) },
		FindSlots: findInteractionSlots,
	}
}

func claimsInteraction(f wire.Frame) wire.Claim {
	var e interactionEvent
	e.read(f)
	switch kind := e.kind.Str; {
	case strings.HasPrefix(kind, "interaction."), strings.HasPrefix(kind, "step."):
		return wire.Surely
	case kind == "content.start", kind == "content.delta", kind == "content.stop":
		return wire.Surely
	case kind == "error":
		return wire.Surely
	}
	return wire.No
}

type interactionsDecoder struct {
	Message string         // id of the interaction that began last
	Step    string         // raw index of the open step
	Kind    wire.BlockKind // of the open step
	Type    string         // of the open step, as on the wire
	Call    string         // id of the call whose result is in the open step
	Name    string         // of the tool of that call
}

func (d *interactionsDecoder) Fields(f *stored.Fields) {
	f.Text("m", &d.Message)
	f.Text("s", &d.Step)
	stored.Number(f, "k", &d.Kind)
	f.Text("t", &d.Type)
	f.Text("c", &d.Call)
	f.Text("n", &d.Name)
}

func (d *interactionsDecoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e interactionEvent
	e.read(f)
	switch e.kind.Str {
	case "step.delta", "content.delta":
		return d.delta(w, &e)
	case "step.start", "content.start":
		return d.startStep(w, &e)
	case "step.stop", "content.stop":
		d.stopStep(w, e.index)
	case "interaction.created", "interaction.start":
		return d.begin(w, e.interaction)
	case "interaction.completed", "interaction.complete":
		return d.end(w, "", &e)
	case "interaction.failed", "interaction.cancelled", "interaction.incomplete", "interaction.requires_action":
		return d.end(w, strings.TrimPrefix(e.kind.Str, "interaction."), &e)
	case "interaction.status_update":
		d.status(w, w.Text(e.status), e.failure, false)
	case "error":
		w.FailRun(d.Message, w.FailureText(e.failure))
		d.endStep()
	default:
		for _, part := range [...]jsonscan.Value{e.step, e.delta} {
			if kind := wire.TypeOf(part); stepKind(kind) == wire.CallBlock || strings.HasSuffix(kind, "_result") {
				w.UnknownCall("event", e.kind.Str, kind)
			}
		}
		w.Unknown("event", e.kind.Str, f.JSON)
	}
	return nil
}

func (d *interactionsDecoder) endStep() { *d = interactionsDecoder{Message: d.Message} }

type interactionEvent struct {
	kind, index, step, delta, interaction, status, failure jsonscan.Value
}

func (e *interactionEvent) read(f wire.Frame) {
	f.Read(
		e.kind.From("event_type"), e.index.From("index"), e.step.From("step"), e.step.From("content"),
		e.delta.From("delta"), e.interaction.From("interaction"), e.status.From("status"),
		e.failure.From("error"),
	)
}

func (d *interactionsDecoder) begin(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	if !v.IsObject() {
		return wire.WrongType("interaction", v, "an object")
	}
	id := w.Text(v.Member("id"))
	// A stream that is resumed may repeat the beginning.
	fresh := id == "" || id != d.Message
	*d = interactionsDecoder{Message: wire.Keep(id)}
	w.Emit(chunks.Chunk{Kind: chunks.Start, Message: d.Message, Fresh: fresh})
	return nil
}

// startStep begins a step. Steps are sequential, so a step that is still open is
// complete.
func (d *interactionsDecoder) startStep(w *wire.Writer, e *interactionEvent) *wire.Problem {
	if !e.step.IsObject() {
		return wire.WrongType("step", e.step, "an object")
	}
	if d.Kind == wire.CallBlock && d.Step != e.index.Raw {
		w.Emit(chunks.Chunk{Kind: chunks.Next, Message: d.Message, Index: e.index.Raw})
	}
	d.endStep()
	d.Step = wire.Keep(e.index.Raw)
	d.Type = wire.Keep(w.Text(e.step.Member("type")))
	d.Kind = stepKind(d.Type)
	return d.part(w, e.index, e.step)
}

func stepKind(name string) wire.BlockKind {
	switch {
	case name == "text", name == "thought", name == "model_output":
		return wire.PartBlock
	case strings.HasSuffix(name, "_call"):
		return wire.CallBlock
	}
	return wire.OtherBlock
}

func (d *interactionsDecoder) delta(w *wire.Writer, e *interactionEvent) *wire.Problem {
	if !e.delta.IsObject() {
		return wire.WrongType("delta", e.delta, "an object")
	}
	if d.Step != e.index.Raw {
		// A delta of the first version of the API, or of a step whose beginning
		// was lost.
		d.endStep()
		d.Step = wire.Keep(e.index.Raw)
	}
	return d.part(w, e.index, e.delta)
}

func (d *interactionsDecoder) stopStep(w *wire.Writer, index jsonscan.Value) {
	kind := wire.CallBlock // if the beginning of the step was lost
	if d.Step == index.Raw {
		kind = d.Kind
		d.endStep()
	}
	if kind != wire.NoBlock { // deltas of the first version of the API have no beginning
		w.EndBlock(d.Message, kind, index)
	}
}

// end emits the end of an interaction with the status in the name of its event, or
// with its own where the name has none.
func (d *interactionsDecoder) end(w *wire.Writer, named string, e *interactionEvent) *wire.Problem {
	v := e.interaction
	if !v.IsObject() && named == "" {
		return wire.WrongType("interaction", v, "an object")
	}
	id, status, usage, failure := jsonscan.Value{}, e.status, jsonscan.Value{}, e.failure
	v.Read(id.From("id"), status.From("status"), usage.From("usage"), failure.From("error"))
	if s := w.Text(id); s != "" {
		if d.Message == "" { // its beginning is lost
			w.Emit(chunks.Chunk{Kind: chunks.Rename, Message: s})
		}
		d.Message = wire.Keep(s)
	}
	w.EmitUsage(chunks.Chunk{Message: d.Message}, usage)
	if named == "" {
		named = w.Text(status)
	}
	d.status(w, named, failure, true)
	return nil
}

// status emits the end of an interaction where the status, or over, means one.
func (d *interactionsDecoder) status(w *wire.Writer, status string, failure jsonscan.Value, over bool) {
	switch {
	case status == "failed":
		w.FailRun(d.Message, cmp.Or(w.FailureText(failure), "the interaction failed"))
		d.endStep()
	case status == "cancelled":
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "cancelled", Text: "the interaction was cancelled"})
		d.endStep()
	case over:
		status = cmp.Or(status, "completed")
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Message: d.Message, Reason: status, Truncated: status != "completed" && status != "requires_action"})
		w.Emit(chunks.Chunk{Kind: chunks.Ended, Message: d.Message})
		d.endStep()
	}
}
