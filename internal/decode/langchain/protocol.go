package langchain

import (
	"slices"
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
	"streamer/internal/stored"
)

// Protocol returns the format langgraph-protocol, the agent streaming protocol of LangGraph
// (streamEvents version v3):
// https://github.com/langchain-ai/agent-protocol/blob/main/streaming/protocol.cddl
//
//	{"type":"event","seq","method":M,"params":{"namespace":["agent:1"],"data":{…}}}, where M and data are
//	messages         event message-start{id,role} → content-block-start{index,content:{type,id,name,args}}
//	                 → content-block-delta{index,delta:{type:"tool-call-delta",args}} …
//	                 or content-block-delta{index,delta:{type:"block-delta",fields:{type,args}}} …
//	                 → content-block-finish{index,content:{type:"tool_call",args:{…}}} → message-finish{reason,usage}
//	tools            event tool-started, tool-output-delta, tool-finished{output} or tool-error{message}
//	lifecycle        event started, running, completed, failed{error} or interrupted
//	input.requested  interrupt_id, payload
//	values, updates  the state, as in the stream modes of LangGraph
//
// Names are in snake_case on the wire and in camelCase in the specification. Both
// are read. The args of a block-delta are the whole text so far in JavaScript, and
// the next piece of it in Python. The assembler of calls detects which. Those of a
// tool-call-delta are the next piece.
//
// The format shares its decoder, and thereby the ids of messages, with Format.
func Protocol() wire.Format {
	return wire.Format{
		Name: "langgraph-protocol", Shape: "langchain",
		Keys:      []string{"method", "result", "message"},
		Claims:    claimsProtocol,
		New:       func() wire.Decoder { return view(new(decoder)) },
		FindSlots: findProtocolSlots,
		Shared:    "langchain", View: view,
	}
}

func view(d wire.Decoder) wire.Decoder {
	shared := d.(*decoder)
	if shared.Streams == nil {
		shared.Streams = new(protocol)
	}
	return (*protocolDecoder)(shared)
}

type protocolDecoder decoder

func (d *protocolDecoder) Fields(f *stored.Fields) { (*decoder)(d).Fields(f) }

func (d *protocolDecoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	return (*decoder)(d).decodeProtocol(w, f)
}

func isProtocol(f wire.Frame) bool {
	return f.Type() == "event" && f.JSON.Member("method").IsString()
}

func claimsProtocol(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.No
	}
	if isProtocol(f) {
		return wire.Surely
	}
	var kind, id, result, message jsonscan.Value
	f.Read(kind.From("type"), id.From("id"), result.From("result"), message.From("message"))
	// The connection also has the answers to commands.
	if kind.Str == "success" && id.Kind == jsonscan.Number && result.IsObject() ||
		kind.Str == "error" && id.Kind == jsonscan.Number && message.IsString() {
		return wire.Perhaps
	}
	return wire.No
}

func (d *decoder) decodeProtocol(w *wire.Writer, f wire.Frame) *wire.Problem {
	var method, params, namespace, data jsonscan.Value
	f.Read(method.From("method"), params.From("params"))
	if !method.Present() {
		return nil // the answer to a command
	}
	if !params.IsObject() {
		return wire.WrongType("params", params, "an object")
	}
	params.Read(namespace.From("namespace"), data.From("data"))
	if namespace.Present() && !namespace.IsArray() {
		return wire.WrongType("params.namespace", namespace, "a list of strings")
	}
	switch method.Str {
	case "messages", "tools", "lifecycle", "input.requested", "values", "updates":
		if !data.IsObject() {
			return wire.WrongType("params.data", data, "an object")
		}
		n := w.Len()
		problem := d.protocolEvent(w, method.Str, d.namespace(w, namespace), data)
		d.setParents(w, n)
		return problem
	case "custom", "debug", "tasks", "checkpoints": // have no calls, or repeat them
	default:
		w.Unknown("event", method.Str, params)
	}
	return nil
}

func (d *decoder) protocolEvent(w *wire.Writer, method, ns string, data jsonscan.Value) *wire.Problem {
	switch method {
	case "messages":
		return d.protocolMessage(w, ns, data)
	case "tools":
		return d.protocolTool(w, ns, data)
	case "lifecycle":
		d.protocolLife(w, ns, data)
		return nil
	case "input.requested":
		d.protocolInput(w, ns, data)
		return nil
	}
	n := w.Len()
	problem := d.protocolState(w, method, ns, data)
	w.Drop(n, func(c *chunks.Chunk) bool { return c.Kind == chunks.Result && d.Streams.Failed.Has(c.ID) })
	return problem
}

// protocolState reads values, or an update, which is {"node","values"}.
func (d *decoder) protocolState(w *wire.Writer, method, ns string, data jsonscan.Value) *wire.Problem {
	if method == "values" {
		return d.values(w, ns, data)
	}
	node, update := data.Member("node"), data.Member("values")
	switch {
	case update.Raw == "":
		return d.updates(w, ns, data)
	case node.Str == interruptKey:
		d.interrupts(w, ns, update)
		return nil
	case update.IsArray():
		return d.updates(w, ns, data)
	}
	return d.stateKeys(w, ns, update)
}

// protocolLife reads a lifecycle event of a graph. The lifecycle of the root is that of
// the run. The start of a subgraph can name the call that caused it. The failure of a
// subgraph ends its open messages.
func (d *decoder) protocolLife(w *wire.Writer, ns string, data jsonscan.Value) {
	var event, run, failure, cause jsonscan.Value
	data.Read(
		event.From("event"), run.From("run_id"), run.From("runId"), failure.From("error"),
		cause.From("cause"), // {"type":"toolCall","tool_call_id"}
	)
	if ns != "" {
		if call := callIn(w, cause); call != "" {
			d.Streams.cause(ns, call)
		}
		if event.Str == "failed" {
			w.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: ns, Text: w.FailureText(failure)})
		}
		return
	}
	c := chunks.Chunk{Kind: chunks.RunEnd, Run: w.Text(run)}
	switch event.Str {
	case "started", "running":
		c.Kind, c.Explicit = chunks.RunStart, true
	case "completed": // no tool runs what is in invalid_tool_calls
		c.Status, c.Abandons, c.Spares = event.Str, true, true
	case "interrupted":
		c.Status = event.Str
	case "failed":
		c.Status, c.Text = "error", w.FailureText(failure)
	default:
		return
	}
	w.Emit(c)
}

// protocolInput emits an interrupt. Its namespace is that of a node, while another node
// of the same graph made the calls. The chunk has the innermost namespace around it in
// which messages were streamed.
func (d *decoder) protocolInput(w *wire.Writer, ns string, data jsonscan.Value) {
	var id, payload jsonscan.Value
	data.Read(id.From("interrupt_id"), id.From("interruptId"), payload.From("payload"))
	for ns != "" && !slices.ContainsFunc(d.Messages.Streamed, func(s streamedMessage) bool { return within(s.Namespace, ns) }) {
		ns = ns[:max(0, strings.LastIndexByte(ns, '|'))]
	}
	w.Emit(chunks.Chunk{Kind: chunks.Await, Namespace: ns, ID: callIn(w, payload), Why: "interrupt", InterruptID: w.Text(id)})
}

func (d *decoder) protocolTool(w *wire.Writer, ns string, data jsonscan.Value) *wire.Problem {
	var event, id, name, delta, output, message jsonscan.Value
	data.Read(
		event.From("event"), id.From("tool_call_id"), id.From("toolCallId"), name.From("tool_name"),
		name.From("toolName"), delta.From("delta"), output.From("output"), message.From("message"),
	)
	c := chunks.Chunk{Kind: chunks.Progress, Namespace: ns, ID: w.Text(id)}
	if c.ID == "" {
		return wire.WrongType("tool_call_id of tools", id, "a string")
	}
	switch event.Str {
	case "tool-started":
		d.Streams.Failed.Remove(c.ID)
	case "tool-output-delta":
		c.Text = w.Text(delta)
		if delta.IsNested() {
			c.Text = w.Compact(delta.Raw)
		}
	case "tool-finished":
		if d.protocolOutput(w, ns, output) {
			return nil
		}
		c.Kind, c.Name, c.Status = chunks.Result, w.Text(name), "success"
		c.Content, c.Text = w.ContentOf(output)
	case "tool-error":
		// A ToolMessage with the error text of the framework may follow.
		d.Streams.Failed.AddNew(c.ID, maxFailed)
		c.Kind, c.Name, c.Status, c.Text = chunks.Result, w.Text(name), "error", w.Text(message)
	default:
		w.Unknown("tools event", event.Str, data)
		return nil
	}
	w.Emit(c)
	return nil
}

// protocolOutput emits the result in an output that is a ToolMessage. It reports
// whether the output is one.
func (d *decoder) protocolOutput(w *wire.Writer, ns string, output jsonscan.Value) bool {
	if !output.IsObject() || !looksLikeMessage(output) {
		return false
	}
	m := readMessage(output)
	return m.kind == kindTool && d.resultMessage(w, place{ns: ns}, &m) == nil
}
