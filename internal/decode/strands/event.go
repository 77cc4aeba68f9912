package strands

import (
	"cmp"
	"strconv"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	var e event
	e.read(f)
	switch kind := e.kind.Str; kind {
	case "":
		return d.python(w, f, &e)
	case "modelStreamUpdateEvent":
		return d.model(w, e.event)
	case "beforeInvocationEvent":
		if d.Running {
			w.StartRun(true)
			d.Open = nil
		}
		d.start(w)
	case "beforeModelCallEvent":
		d.Failure = ""
	case "afterModelCallEvent":
		if e.failure.Present() {
			d.fail(w, e.failure)
		}
	case "afterInvocationEvent":
		d.endFailed(w)
	case "contentBlockEvent":
		if use := f.JSON.Member("contentBlock").Member("toolUse"); use.IsObject() {
			d.call(w, use)
		}
	case "beforeToolCallEvent":
		if !e.toolUse.IsObject() {
			return wire.WrongType("toolUse", e.toolUse, "an object")
		}
		d.call(w, e.toolUse)
	case "toolStreamUpdateEvent":
		d.progress(w, e.event.Member("data"))
	case "toolResultEvent":
		return d.result(w, e.result.Member("toolResult"))
	case "messageAddedEvent":
		d.Failure = "" // a person cancelled the run
		return d.message(w, e.message, false)
	case "agentResultEvent":
		d.start(w)
		d.end(w, e.result.Member("stopReason").Str)
	case "beforeToolsEvent", "afterToolsEvent", "afterToolCallEvent",
		"modelMessageEvent", "initializedEvent", "interruptEvent": // repeat other events
	default:
		w.Unknown("event", kind, f.JSON)
	}
	return nil
}

func (d *decoder) model(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var kind, begin, delta, reason, usage jsonscan.Value
	v.Read(kind.From("type"), begin.From("start"), delta.From("delta"), reason.From("stopReason"), usage.From("usage"))
	index := strconv.Itoa(d.Block)
	switch kind.Str {
	case "modelMessageStartEvent":
		d.start(w)
		d.Block, d.Call = 0, false
		w.Emit(chunks.Chunk{Kind: chunks.Start, Role: "assistant", Fresh: true})
	case "modelContentBlockStartEvent":
		if d.Call = begin.IsObject(); d.Call {
			var id, name jsonscan.Value
			w.ReadKnown("start", begin, delta.From("type"), id.From("toolUseId"), name.From("name"), delta.From("reasoningSignature"))
			c := chunks.Chunk{Kind: chunks.Fragment, Index: index, ID: w.Text(id), Name: w.Text(name), Final: true, Opens: true}
			w.EmitCall(c)
			d.Open.AddNew(c.ID, maxCalls)
		}
	case "modelContentBlockDeltaEvent":
		d.delta(w, delta, index)
	case "modelContentBlockStopEvent":
		if !d.Call { // else the contentBlockEvent completes it
			w.Emit(chunks.Chunk{Kind: chunks.PartEnd, Part: d.Block})
		}
		d.Block++
		d.Call = false
	case "modelMessageStopEvent":
		s := w.Text(reason)
		w.Emit(chunks.Chunk{Kind: chunks.Finish, Reason: s, Truncated: s == "maxTokens" || s == "modelContextWindowExceeded" || s == "contentFiltered" || s == "guardrailIntervened"})
	case "modelMetadataEvent":
		w.EmitUsage(chunks.Chunk{}, usage)
	case "modelRedactionEvent":
	default:
		w.Unknown("event of the model", kind.Str, v)
	}
	return nil
}

func (d *decoder) delta(w *wire.Writer, v jsonscan.Value, index string) {
	var kind, text, input jsonscan.Value
	v.Read(kind.From("type"), text.From("text"), input.From("input"))
	switch kind.Str {
	case "textDelta":
		w.EmitText(chunks.Chunk{Kind: chunks.Text, Part: d.Block}, text)
	case "reasoningContentDelta":
		w.EmitText(chunks.Chunk{Kind: chunks.Reasoning, Part: d.Block}, text)
	case "toolUseInputDelta":
		if !input.Present() {
			w.UnknownMembers("the delta", v)
		}
		if s := w.Text(input); s != "" {
			w.Emit(chunks.Chunk{Kind: chunks.Fragment, Index: index, Args: s, Exact: true})
		}
	case "citationsDelta":
	default:
		w.Unknown("delta", kind.Str, v)
	}
}

// progress emits that a tool is active. The event does not name its call, unless only one
// is open.
func (d *decoder) progress(w *wire.Writer, data jsonscan.Value) {
	if len(d.Open) == 1 {
		w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: d.Open[0], Text: wire.Excerpt(w.Text(data))})
	}
}

// message reads what a person writes, and the calls and results that have no other event.
func (d *decoder) message(w *wire.Writer, v jsonscan.Value, python bool) (problem *wire.Problem) {
	var role, content jsonscan.Value
	v.Read(role.From("role"), content.From("content"))
	results := false
	for e := content.Elements(); e.Next(); {
		for m := e.Value.Members(); m.Next(); {
			switch m.Key {
			case "toolResult":
				results = true
				if id := w.Text(m.Value.Member("toolUseId")); id == "" || python || d.Open.Has(id) {
					problem = cmp.Or(problem, d.result(w, m.Value))
				}
			case "toolUse":
				if python {
					d.call(w, m.Value)
				} // else it has an event before it runs
			default:
				w.UnknownMember("the content block", m.Key, m.Value)
			}
		}
	}
	if role.Str == "user" && !results {
		if !python {
			d.start(w)
		}
		w.Emit(chunks.Chunk{Kind: chunks.Human, Text: w.PlainText(content)})
	}
	return problem
}

// python reads an event of Python, where a run has no end that is JSON. Those with the name
// of a call have its input so far, which the events of Bedrock have as well.
func (d *decoder) python(w *wire.Writer, f wire.Frame, e *event) *wire.Problem {
	switch {
	case e.event.IsObject():
		return d.converseEvent(w, wire.Frame{JSON: e.event})
	case e.initial.Kind == jsonscan.True:
		w.Emit(chunks.Chunk{Kind: chunks.RunStart})
	case e.message.IsObject():
		problem := d.message(w, e.message, true)
		d.endMessage(w)
		return problem
	case e.tool.IsObject():
		if id := w.Text(e.tool.Member("tool_use").Member("toolUseId")); d.Open.Has(id) {
			w.Emit(chunks.Chunk{Kind: chunks.Progress, ID: id, Text: wire.Excerpt(w.Text(e.tool.Member("data")))})
		}
	case e.stop.Kind == jsonscan.True:
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Status: "error", Text: w.Text(e.why)})
		d.Running, d.Open = false, nil
	case e.result.Present():
		d.end(w, w.Text(e.result.Member("stop_reason")))
	case e.current.IsObject(), e.data.IsString(), e.loop.Present(), e.begins.Present(), e.lifecycle.Present(), e.delta.Present(), e.reason.Present(), e.text.Present():
	default:
		w.Unknown("event", "", f.JSON)
	}
	return nil
}

func (d *decoder) converseEvent(w *wire.Writer, f wire.Frame) *wire.Problem {
	if d.converse(f) < wire.Perhaps {
		w.Unknown("event", "", f.JSON)
		return nil
	}
	d.endMessage(w)
	n := w.Len()
	problem := d.Bedrock.Decode(w, f)
	w.Drop(n, func(c *chunks.Chunk) bool {
		switch c.Kind {
		case chunks.Fragment:
			d.Open.AddNew(c.ID, maxCalls)
		case chunks.Usage:
			if len(c.Usage) <= wire.MaxUsage {
				d.Usage = strings.Clone(c.Usage)
			}
		case chunks.Ended:
			d.Usage = cmp.Or(d.Usage, "null")
		}
		return c.Kind == chunks.Seal || c.Kind == chunks.Usage || c.Kind == chunks.Ended
	})
	return problem
}

// endMessage ends a message behind its whole calls.
func (d *decoder) endMessage(w *wire.Writer) {
	if d.Usage != "" {
		w.EmitUsage(chunks.Chunk{}, jsonscan.ValueOf(d.Usage))
		w.Emit(chunks.Chunk{Kind: chunks.Ended})
	}
	d.Usage = ""
}
