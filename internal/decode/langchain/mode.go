package langchain

import (
	"cmp"
	"math"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (d *decoder) tuple(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	e := v.Elements()
	if !e.Next() {
		return nil
	}
	ns, namespaced := "", false
	if wire.IsNamespace(e.Value) {
		if ns, namespaced = d.namespace(w, e.Value), true; !e.Next() {
			return nil
		}
	}
	switch mode := e.Value; {
	case mode.IsString():
		if payload := e.Rest(); payload.Kind != jsonscan.Missing {
			return d.event(w, mode.Str, ns, payload)
		}
		return nil // the payload of the mode custom
	case namespaced:
		return d.payload(w, ns, wire.Frame{JSON: mode})
	}
	return d.messageMode(w, "", v)
}

func (d *decoder) part(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var mode, ns, data, interrupts jsonscan.Value
	v.Read(mode.From("type"), ns.From("ns"), data.From("data"), interrupts.From("interrupts"))
	namespace := d.namespace(w, ns)
	problem := d.event(w, mode.Str, namespace, data)
	if e := interrupts.Elements(); e.Next() && !data.Member(interruptKey).Present() {
		d.interrupts(w, namespace, interrupts)
	}
	return problem
}

// namespace joins the parts of a namespace: "a:1|b:2".
func (d *decoder) namespace(w *wire.Writer, list jsonscan.Value) string {
	e := list.Elements()
	if !e.Next() {
		return ""
	}
	ns := w.Text(e.Value)
	for e.Next() {
		ns = w.Join(ns, "|", w.Text(e.Value))
	}
	return ns
}

func (d *decoder) event(w *wire.Writer, mode, ns string, payload jsonscan.Value) *wire.Problem {
	switch mode {
	case "messages", "messages-tuple":
		return d.messageMode(w, ns, payload)
	case "messages/partial":
		return d.partials(w, ns, payload, false)
	case "messages/complete":
		return d.partials(w, ns, payload, true)
	case "messages/metadata":
		d.messageMetadata(w, ns, payload)
	case "updates":
		return d.updates(w, ns, payload)
	case "values":
		return d.values(w, ns, payload)
	case "events":
		return d.trace(w, payload)
	case "metadata":
		d.runMetadata(w, payload)
	case "error":
		text := cmp.Or(w.Text(payload.Member("message")), w.FailureText(payload.Member("error")))
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "error", Text: text})
	case "end":
		w.Emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "completed", Abandons: true, Spares: true})
	case "custom", "debug", "tasks", "checkpoints", "tools": // have no calls, or repeat them
	default:
		if isTraceName(mode) {
			return d.traceData(w, mode, ns, payload)
		}
		w.Unknown("event", mode, payload)
	}
	return nil
}

// runMetadata reads {"run_id","attempt"}. A higher attempt than before replaces the
// open messages.
func (d *decoder) runMetadata(w *wire.Writer, v jsonscan.Value) {
	run, attempt := w.Text(v.Member("run_id")), int32(min(v.Member("attempt").Int(), math.MaxInt32))
	if run == "" {
		return
	}
	if run == d.Messages.Run && attempt > max(d.Messages.Attempt, 1) {
		w.Emit(chunks.Chunk{Kind: chunks.Attempt, Run: run})
		d.Messages.Streamed, d.Messages.Partial = nil, nil
	}
	d.Messages.Run, d.Messages.Attempt = wire.Keep(run), attempt
	w.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: run})
}

// messageMode reads [message, metadata], a list of messages, or one message.
func (d *decoder) messageMode(w *wire.Writer, ns string, payload jsonscan.Value) *wire.Problem {
	d.Messages.Live = true
	if payload.IsObject() {
		return d.message(w, place{ns: ns}, payload)
	}
	if !payload.IsArray() {
		return wire.WrongType("the payload of messages", payload, "a message and its metadata")
	}
	e := payload.Elements()
	if !e.Next() {
		return nil
	}
	first := e.Value
	if s := d.checkpointNamespace(w, e.Rest()); s != "" {
		ns = s
	}
	return d.message(w, place{ns: ns}, first)
}

func (d *decoder) checkpointNamespace(w *wire.Writer, metadata jsonscan.Value) (ns string) {
	for m := metadata.Members(); m.Next(); {
		switch m.Key {
		case "langgraph_checkpoint_ns":
			return w.Text(m.Value)
		case "checkpoint_ns":
			ns = w.Text(m.Value)
		}
	}
	return ns
}

type place struct {
	ns string
	// repeated is true in updates and values, which repeat the history. Texts
	// that were streamed are not emitted again.
	repeated bool
	// growing is true for a message that is finished and may be sent again with its
	// usage.
	growing bool
}

func (d *decoder) message(w *wire.Writer, at place, v jsonscan.Value) *wire.Problem {
	switch m := readMessage(v); m.kind {
	case kindAI, kindAIChunk:
		d.unknownMembers(w, &m)
		if m.kind == kindAIChunk && !at.repeated {
			d.delta(w, at.ns, &m)
		} else {
			d.wholeMessage(w, at, &m, true)
		}
	case kindTool:
		return d.resultMessage(w, at, &m)
	case kindHuman:
		d.human(w, at, &m)
	case kindNone:
		return wire.WrongShape("the message is of type %q, which LangChain does not have", wire.Clip(m.class))
	}
	return nil
}
