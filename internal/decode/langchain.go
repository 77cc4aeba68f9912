package decode

import (
	"fmt"
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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

func claimsLangChain(f Frame) claim {
	switch {
	case f.Done, isProtocol(f.JSON): // which names its events after the same modes
		return no
	case f.Name != "":
		return claimsLangEvent(f)
	case isArray(f.JSON):
		return claimsLangTuple(f.JSON)
	case langPart(f.JSON) || looksLangMessage(f.JSON) || langTraced(f.JSON):
		return surely
	}
	return no
}

// claimsLangEvent knows the server's events by their names, and by their data
// where other formats have events of that name.
func claimsLangEvent(f Frame) claim {
	name, _, _ := strings.Cut(f.Name, "|")
	switch name {
	case "metadata":
		if member(f.JSON, "run_id").Type == gjson.String {
			return surely
		}
	case "error":
		if isString(member(f.JSON, "error")) && !present(member(f.JSON, "type")) {
			return surely
		}
	case "events":
		if langTraced(f.JSON) {
			return surely
		}
		return perhaps
	case "end", "feedback", "heartbeat":
		return perhaps
	default:
		if langMode(name) || langTrace(name) && isObject(f.JSON) {
			return surely
		}
	}
	return no
}

// claimsLangTuple looks no further than it must: a payload is long.
func claimsLangTuple(v gjson.Result) claim {
	e := elements(v)
	if !e.next() {
		return no
	}
	first := e.value
	if isArray(first) && e.next() {
		first = e.value
	}
	if first.Type == gjson.String && langMode(first.Str) || isObject(first) && looksLangMessage(first) {
		return surely
	}
	return no
}

// langPart tells {"type":mode,"ns":[…],"data":…}.
func langPart(v gjson.Result) bool {
	mode, ns := false, false
	for m := members(v); m.next(); {
		switch m.key {
		case "type":
			mode = langMode(m.value.Str)
		case "ns":
			ns = isArray(m.value)
		case "data", "interrupts":
		default:
			return false
		}
	}
	return mode && ns
}

func decodeLangChain(r *Reader, f Frame) *Problem {
	if f.Name != "" {
		mode, ns, _ := strings.Cut(f.Name, "|")
		return r.langEvent(mode, ns, f.JSON)
	}
	if isArray(f.JSON) {
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
func (r *Reader) langTuple(v gjson.Result) *Problem {
	e := elements(v)
	if !e.next() {
		return nil
	}
	ns := ""
	if isArray(e.value) {
		if ns = r.langNamespace(e.value); !e.next() {
			return nil
		}
	}
	if !isString(e.value) {
		return r.langMessages("", v)
	}
	return r.langEvent(e.value.Str, ns, e.rest())
}

// rest gives the next value of an array or object, known to be its last one,
// without looking for its end: payloads are long, and walked again anyway.
// What stands behind its closing bracket no walker sees.
func (w *walker) rest() gjson.Result {
	i := w.separator(w.at)
	if w.at == 0 || i >= len(w.raw) {
		return gjson.Result{}
	}
	return valueOf(strings.TrimRight(w.raw[i:len(w.raw)-1], " \t\r\n"))
}

func (r *Reader) langParts(v gjson.Result) *Problem {
	var mode, ns, data, interrupts gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "type":
			mode = m.value
		case "ns":
			ns = m.value
		case "data":
			data = m.value
		case "interrupts":
			interrupts = m.value
		}
	}
	namespace := r.langNamespace(ns)
	problem := r.langEvent(mode.Str, namespace, data)
	if e := elements(interrupts); e.next() && !present(member(data, interruptKey)) {
		r.langInterrupts(namespace, interrupts)
	}
	return problem
}

// langNamespace joins the parts of a namespace: "a:1|b:2".
func (r *Reader) langNamespace(list gjson.Result) string {
	e := elements(list)
	if !e.next() {
		return ""
	}
	ns := r.text(e.value)
	for e.next() {
		ns = r.join(ns, "|", r.text(e.value))
	}
	return ns
}

// join puts strings together in scratch.
func (r *Reader) join(parts ...string) string {
	start := len(r.scratch)
	for _, s := range parts {
		r.scratch = append(r.scratch, s...)
	}
	return alias(r.scratch[start:])
}

func isString(v gjson.Result) bool { return v.Type == gjson.String }

// langEvent reads the payload of a mode, or of a server's event.
func (r *Reader) langEvent(mode, ns string, payload gjson.Result) *Problem {
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
		r.emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "error", Text: r.langError(payload)})
	case "end":
		r.emit(chunks.Chunk{Kind: chunks.RunEnd, Namespace: ns, Status: "completed"})
	}
	if langTrace(mode) {
		return r.langTold(mode, ns, payload)
	}
	return nil // custom, debug, tasks and checkpoints say nothing of calls
}

// langRun reads {"run_id","attempt"}. An attempt beyond the one that was
// remembered begins again what was open.
func (r *Reader) langRun(v gjson.Result) {
	mem := partOf(&r.mem.LangChain)
	run, attempt := r.text(member(v, "run_id")), integer(member(v, "attempt"))
	if run == mem.Run && attempt > max(mem.Attempt, 1) {
		r.emit(chunks.Chunk{Kind: chunks.Attempt, Run: run})
		mem.Streamed, mem.Partial = nil, nil
	}
	mem.Run, mem.Attempt = keep(run, keptID), attempt
	r.emit(chunks.Chunk{Kind: chunks.RunStart, Run: run})
}

// langError reads {"error":"ValueError","message":"…"}.
func (r *Reader) langError(v gjson.Result) string {
	if s := r.text(member(v, "message")); s != "" {
		return s
	}
	return r.failureText(member(v, "error"))
}

// langMessages reads [message, metadata], a list of messages, or one message.
func (r *Reader) langMessages(ns string, payload gjson.Result) *Problem {
	if isObject(payload) {
		return r.langMessage(langPlace{ns: ns}, payload)
	}
	if !isArray(payload) {
		return wrongType("the payload of messages", payload, "a message and its metadata")
	}
	e := elements(payload)
	if !e.next() {
		return nil
	}
	first := e.value
	if s := r.langCheckpoint(e.rest()); s != "" {
		ns = s
	}
	return r.langMessage(langPlace{ns: ns}, first)
}

// langCheckpoint gives the checkpoint namespace of a message's metadata.
func (r *Reader) langCheckpoint(metadata gjson.Result) (ns string) {
	for m := members(metadata); m.next(); {
		switch m.key {
		case "langgraph_checkpoint_ns":
			return r.text(m.value)
		case "checkpoint_ns":
			ns = r.text(m.value)
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
func (r *Reader) langMessage(at langPlace, v gjson.Result) *Problem {
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
		return &Problem{Code: BadShape, Text: fmt.Sprintf("the message is of type %q, which LangChain does not have", clip(m.class))}
	}
	return nil
}
