package langchain

import (
	"math"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

func (r reader) tuple(v jsonscan.Value) *wire.Problem {
	e := v.Elements()
	if !e.Next() {
		return nil
	}
	ns, namespaced := "", false
	if wire.IsNamespace(e.Value) {
		if ns, namespaced = r.namespace(e.Value), true; !e.Next() {
			return nil
		}
	}
	switch mode := e.Value; {
	case mode.IsString():
		if payload := e.Rest(); payload.Kind != jsonscan.Missing {
			return r.event(mode.Str, ns, payload)
		}
		return nil // the payload of the mode custom
	case namespaced:
		return r.payload(ns, wire.Frame{JSON: mode})
	}
	return r.messageMode("", v)
}

func (r reader) part(v jsonscan.Value) *wire.Problem {
	var mode, ns, data, interrupts jsonscan.Value
	v.Read(mode.From("type"), ns.From("ns"), data.From("data"), interrupts.From("interrupts"))
	namespace := r.namespace(ns)
	problem := r.event(mode.Str, namespace, data)
	if e := interrupts.Elements(); e.Next() && !data.Member(interruptKey).Present() {
		r.interrupts(namespace, interrupts)
	}
	return problem
}

// namespace joins the parts of a namespace: "a:1|b:2".
func (r reader) namespace(list jsonscan.Value) string {
	e := list.Elements()
	if !e.Next() {
		return ""
	}
	ns := r.Text(e.Value)
	for e.Next() {
		ns = r.Join(ns, "|", r.Text(e.Value))
	}
	return ns
}

// event reads the payload of a mode or of an event of the server.
func (r reader) event(mode, ns string, payload jsonscan.Value) *wire.Problem {
	switch mode {
	case "messages", "messages-tuple":
		return r.messageMode(ns, payload)
	case "messages/partial":
		return r.partials(ns, payload, false)
	case "messages/complete":
		return r.partials(ns, payload, true)
	case "messages/metadata":
		r.messageMetadata(ns, payload)
	case "updates":
		return r.updates(ns, payload)
	case "values":
		return r.values(ns, payload)
	case "events":
		return r.trace(payload)
	case "metadata":
		r.runMetadata(payload)
	case "error":
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "error", Text: r.errorText(payload)})
	case "end":
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "completed"})
	case "custom", "debug", "tasks", "checkpoints", "tools": // have no calls, or repeat them
	default:
		if isTraceName(mode) {
			return r.traceData(mode, ns, payload)
		}
		r.Unknown("event", mode, payload)
	}
	return nil
}

// runMetadata reads {"run_id","attempt"}. A higher attempt than before replaces the
// open messages.
func (r reader) runMetadata(v jsonscan.Value) {
	run, attempt := r.Text(v.Member("run_id")), int32(min(v.Member("attempt").Int(), math.MaxInt32))
	if run == "" {
		return
	}
	if run == r.d.Messages.Run && attempt > max(r.d.Messages.Attempt, 1) {
		r.Emit(chunks.Chunk{Kind: chunks.Attempt, Run: run})
		r.d.Messages.Streamed, r.d.Messages.Partial = nil, nil
	}
	r.d.Messages.Run, r.d.Messages.Attempt = wire.Keep(run), attempt
	r.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: run})
}

// errorText returns the text of {"error":"ValueError","message":"…"}.
func (r reader) errorText(v jsonscan.Value) string {
	if s := r.Text(v.Member("message")); s != "" {
		return s
	}
	return r.FailureText(v.Member("error"))
}

// messageMode reads [message, metadata], a list of messages, or one message.
func (r reader) messageMode(ns string, payload jsonscan.Value) *wire.Problem {
	r.d.Messages.streams()
	if payload.IsObject() {
		return r.message(place{ns: ns}, payload)
	}
	if !payload.IsArray() {
		return wire.WrongType("the payload of messages", payload, "a message and its metadata")
	}
	e := payload.Elements()
	if !e.Next() {
		return nil
	}
	first := e.Value
	if s := r.checkpointNamespace(e.Rest()); s != "" {
		ns = s
	}
	return r.message(place{ns: ns}, first)
}

// checkpointNamespace returns the checkpoint namespace in the metadata of a message.
func (r reader) checkpointNamespace(metadata jsonscan.Value) (ns string) {
	for m := metadata.Members(); m.Next(); {
		switch m.Key {
		case "langgraph_checkpoint_ns":
			return r.Text(m.Value)
		case "checkpoint_ns":
			ns = r.Text(m.Value)
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

func (r reader) message(at place, v jsonscan.Value) *wire.Problem {
	m := readMessage(v)
	if m.kind == kindAI || m.kind == kindAIChunk {
		r.unknownMembers(&m)
	}
	switch m.kind {
	case kindAIChunk:
		if !at.repeated {
			r.delta(at.ns, &m)
			return nil
		}
		r.wholeMessage(at, &m, true)
	case kindAI:
		r.wholeMessage(at, &m, true)
	case kindTool:
		return r.resultMessage(at, &m)
	case kindHuman:
		r.human(at, &m)
	case kindNone:
		return wire.WrongShape("the message is of type %q, which LangChain does not have", wire.Clip(m.class))
	}
	return nil
}
