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

// langModes are the modes of a stream that are no messages.
var langModes = [...]string{"updates", "values", "custom", "debug", "tasks", "checkpoints"}

func langMode(name string) bool {
	for _, m := range langModes {
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
		return claimsLangEvent(f)
	case f.JSON.IsArray():
		return claimsLangTuple(f.JSON)
	case langPart(f.JSON) || looksLangMessage(f.JSON) || langTraced(f.JSON):
		return wire.Surely
	}
	return wire.No
}

// claimsLangEvent knows the server's events by their names, and by their data
// where other formats have events of that name.
func claimsLangEvent(f wire.Frame) wire.Claim {
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
		if langTraced(f.JSON) {
			return wire.Surely
		}
		return wire.Perhaps
	case "end", "feedback", "heartbeat":
		return wire.Perhaps
	default:
		if langMode(name) || langTrace(name) && f.JSON.IsObject() {
			return wire.Surely
		}
	}
	return wire.No
}

// claimsLangTuple looks no further than it must: a payload is long.
func claimsLangTuple(v jsonscan.Value) wire.Claim {
	e := v.Elements()
	if !e.Next() {
		return wire.No
	}
	first := e.Value
	if first.IsArray() && e.Next() {
		first = e.Value
	}
	if first.IsString() && langMode(first.Str) || first.IsObject() && looksLangMessage(first) {
		return wire.Surely
	}
	return wire.No
}

// langPart tells {"type":mode,"ns":[…],"data":…}.
func langPart(v jsonscan.Value) bool {
	mode, ns := false, false
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			mode = langMode(m.Value.Str)
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
		return r.langEvent(mode, ns, f.JSON)
	}
	if f.JSON.IsArray() {
		return r.langTuple(f.JSON)
	}
	if langPart(f.JSON) {
		return r.langParts(f.JSON)
	}
	if langTraced(f.JSON) {
		return r.langTraces(f.JSON)
	}
	return r.langMessage(langPlace{}, f.JSON)
}

// langTuple reads an event that is an array.
func (r reader) langTuple(v jsonscan.Value) *wire.Problem {
	e := v.Elements()
	if !e.Next() {
		return nil
	}
	ns := ""
	if e.Value.IsArray() {
		if ns = r.langNamespace(e.Value); !e.Next() {
			return nil
		}
	}
	if !e.Value.IsString() {
		return r.langMessages("", v)
	}
	return r.langEvent(e.Value.Str, ns, e.Rest())
}

func (r reader) langParts(v jsonscan.Value) *wire.Problem {
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
	namespace := r.langNamespace(ns)
	problem := r.langEvent(mode.Str, namespace, data)
	if e := interrupts.Elements(); e.Next() && !data.Member(interruptKey).Present() {
		r.langInterrupts(namespace, interrupts)
	}
	return problem
}

// langNamespace joins the parts of a namespace: "a:1|b:2".
func (r reader) langNamespace(list jsonscan.Value) string {
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

// langEvent reads the payload of a mode, or of a server's event.
func (r reader) langEvent(mode, ns string, payload jsonscan.Value) *wire.Problem {
	switch mode {
	case "messages", "messages-tuple":
		return r.langMessages(ns, payload)
	case "messages/partial":
		return r.langPartials(ns, payload, false)
	case "messages/complete":
		return r.langPartials(ns, payload, true)
	case "messages/metadata":
		r.langPlaces(ns, payload)
	case "updates":
		return r.langUpdates(ns, payload)
	case "values":
		return r.langValues(ns, payload)
	case "events":
		return r.langTraces(payload)
	case "metadata":
		r.langRun(payload)
	case "error":
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "error", Text: r.langError(payload)})
	case "end":
		r.Emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "completed"})
	}
	if langTrace(mode) {
		return r.langTold(mode, ns, payload)
	}
	return nil // custom, debug, tasks and checkpoints say nothing of calls
}

// langRun reads {"run_id","attempt"}. An attempt beyond the one that was
// remembered begins again what was open.
func (r reader) langRun(v jsonscan.Value) {
	mem := &r.d.Messages
	run, attempt := r.Text(v.Member("run_id")), v.Member("attempt").Int()
	if run == mem.Run && attempt > max(mem.Attempt, 1) {
		r.Emit(chunks.Chunk{Kind: chunks.Attempt, Run: run})
		mem.Streamed, mem.Partial = nil, nil
	}
	mem.Run, mem.Attempt = wire.Keep(run), attempt
	r.Emit(chunks.Chunk{Kind: chunks.RunStart, Run: run})
}

// langError reads {"error":"ValueError","message":"…"}.
func (r reader) langError(v jsonscan.Value) string {
	if s := r.Text(v.Member("message")); s != "" {
		return s
	}
	return r.FailureText(v.Member("error"))
}

// langMessages reads [message, metadata], a list of messages, or one message.
func (r reader) langMessages(ns string, payload jsonscan.Value) *wire.Problem {
	if payload.IsObject() {
		return r.langMessage(langPlace{ns: ns}, payload)
	}
	if !payload.IsArray() {
		return wire.WrongType("the payload of messages", payload, "a message and its metadata")
	}
	e := payload.Elements()
	if !e.Next() {
		return nil
	}
	first := e.Value
	if s := r.langCheckpoint(e.Rest()); s != "" {
		ns = s
	}
	return r.langMessage(langPlace{ns: ns}, first)
}

// langCheckpoint gives the checkpoint namespace of a message's metadata.
func (r reader) langCheckpoint(metadata jsonscan.Value) (ns string) {
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

// langPlace is where a message was found.
type langPlace struct {
	ns string
	// repeated: updates and values repeat the history, and a text that was
	// streamed is not said again.
	repeated bool
}

// langMessage emits what a message says.
func (r reader) langMessage(at langPlace, v jsonscan.Value) *wire.Problem {
	m := readLangMessage(v)
	switch m.kind {
	case langChunk:
		if !at.repeated {
			r.langDelta(at.ns, &m)
			return nil
		}
		r.langWhole(at, &m, true)
	case langAI:
		r.langWhole(at, &m, true)
	case langTool:
		return r.langResult(at, &m)
	case langHuman:
		r.langHuman(at, &m)
	case langNone:
		return wire.WrongShape("the message is of type %q, which LangChain does not have", wire.Clip(m.class))
	}
	return nil
}
