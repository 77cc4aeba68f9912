package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// What LangChain and LangGraph put on a wire, Python and JavaScript alike:
// https://docs.langchain.com/oss/python/langgraph/streaming
//
//	message                        a bare AIMessageChunk, in any of its shapes (langchain_message.go)
//	[message, metadata]            stream_mode messages
//	[mode, payload]                a list of modes
//	[[ns, …], mode, payload]       the same with subgraphs
//	{"type":mode,"ns":[…],"data"}  the parts of the SDK
//	{"event":"on_…","data",…}      the events of astream_events (langchain_events.go)
//	event: mode|ns|…, data         the server's SSE, which also has metadata, error, end and messages/partial
//
// A message's namespace is the whole checkpoint namespace of its metadata,
// node included, which all of these share; the namespace beside the mode has
// the node in JavaScript and lacks it in Python. Only updates and values, which
// have no metadata, go by the latter.

// modes are the modes of a stream that are no messages.
var modes = [...]string{"updates", "values", "custom", "debug", "tasks", "checkpoints"}

func isMode(name string) bool {
	for _, m := range modes {
		if name == m {
			return true
		}
	}
	return strings.HasPrefix(name, "messages") && (len(name) == len("messages") || name[len("messages")] == '/' || name == "messages-tuple")
}

func claims(f wire.Frame) wire.Claim {
	switch {
	case f.Done, isProtocol(f.JSON): // which names its events after the same modes
		return wire.No
	case f.Name != "":
		return claimsEvent(f)
	case f.JSON.IsArray():
		return claimsTuple(f.JSON)
	case isPart(f.JSON) || looksLikeMessage(f.JSON) || isTrace(f.JSON):
		return wire.Surely
	}
	return wire.No
}

// claimsEvent knows the server's events by their names, and by their data
// where other formats have events of that name.
func claimsEvent(f wire.Frame) wire.Claim {
	name, _, _ := strings.Cut(f.Name, "|")
	switch name {
	case "metadata":
		if f.JSON.Member("run_id").IsString() {
			return wire.Surely
		}
	case "error":
		if f.JSON.Member("error").IsString() && !f.JSON.Member("type").Present() {
			return wire.Surely
		}
	case "events":
		if isTrace(f.JSON) {
			return wire.Surely
		}
		return wire.Perhaps
	case "end", "feedback", "heartbeat":
		return wire.Perhaps
	default:
		if isMode(name) || isTraceName(name) && f.JSON.IsObject() {
			return wire.Surely
		}
	}
	return wire.No
}

// claimsTuple looks no further than it must: a payload is long.
func claimsTuple(v jsonscan.Value) wire.Claim {
	e := v.Elements()
	if !e.Next() {
		return wire.No
	}
	first := e.Value
	if first.IsArray() && e.Next() {
		first = e.Value
	}
	if first.IsString() && isMode(first.Str) || first.IsObject() && looksLikeMessage(first) {
		return wire.Surely
	}
	return wire.No
}

// isPart tells {"type":mode,"ns":[…],"data":…}.
func isPart(v jsonscan.Value) bool {
	mode, ns := false, false
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			mode = isMode(m.Value.Str)
		case "ns":
			ns = m.Value.IsArray()
		case "data", "interrupts":
		default:
			return false
		}
	}
	return mode && ns
}

func (r reader) decode(f wire.Frame) *wire.Problem {
	if f.Name != "" {
		mode, ns, _ := strings.Cut(f.Name, "|")
		return r.event(mode, ns, f.JSON)
	}
	if f.JSON.IsArray() {
		return r.tuple(f.JSON)
	}
	if isPart(f.JSON) {
		return r.part(f.JSON)
	}
	if isTrace(f.JSON) {
		return r.trace(f.JSON)
	}
	return r.message(place{}, f.JSON)
}

// tuple reads an event that is an array.
func (r reader) tuple(v jsonscan.Value) *wire.Problem {
	e := v.Elements()
	if !e.Next() {
		return nil
	}
	ns := ""
	if e.Value.IsArray() {
		if ns = r.namespace(e.Value); !e.Next() {
			return nil
		}
	}
	if !e.Value.IsString() {
		return r.messageMode("", v)
	}
	return r.event(e.Value.Str, ns, e.Rest())
}

func (r reader) part(v jsonscan.Value) *wire.Problem {
	var mode, ns, data, interrupts jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			mode = m.Value
		case "ns":
			ns = m.Value
		case "data":
			data = m.Value
		case "interrupts":
			interrupts = m.Value
		}
	}
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

// event reads the payload of a mode, or of a server's event.
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
	}
	if isTraceName(mode) {
		return r.traceData(mode, ns, payload)
	}
	return nil // custom, debug, tasks and checkpoints say nothing of calls
}

// runMetadata reads {"run_id","attempt"}. An attempt beyond the one that was
// remembered begins again what was open.
func (r reader) runMetadata(v jsonscan.Value) {
	run, attempt := r.Text(v.Member("run_id")), v.Member("attempt").Int()
	if run == r.d.Messages.Run && attempt > max(r.d.Messages.Attempt, 1) {
		r.Emit(chunks.Chunk{Kind: chunks.Attempt, Run: run})
		r.d.Messages.Streamed, r.d.Messages.Partial = nil, nil
	}
	r.d.Messages.Run, r.d.Messages.Attempt = wire.Keep(run), attempt
	r.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: run})
}

// errorText reads {"error":"ValueError","message":"…"}.
func (r reader) errorText(v jsonscan.Value) string {
	if s := r.Text(v.Member("message")); s != "" {
		return s
	}
	return r.FailureText(v.Member("error"))
}

// messageMode reads [message, metadata], a list of messages, or one message.
func (r reader) messageMode(ns string, payload jsonscan.Value) *wire.Problem {
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

// checkpointNamespace gives the checkpoint namespace of a message's metadata.
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

// place is where a message was found.
type place struct {
	ns string
	// repeated: updates and values repeat the history, and a text that was
	// streamed is not said again.
	repeated bool
}

// message emits what a message says.
func (r reader) message(at place, v jsonscan.Value) *wire.Problem {
	m := readMessage(v)
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
