package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The agent streaming protocol of LangGraph (streamEvents version v3):
// https://github.com/langchain-ai/agent-protocol/blob/main/streaming/protocol.cddl
//
//	{"type":"event","seq","method":M,"params":{"namespace":["agent:1"],"data":{…}}}, where M and data are
//	messages         event message-start{id,role} → content-block-start{index,content:{type,id,name,args}}
//	                 → content-block-delta{index,delta:{type:"block-delta",fields:{type,args}}} …
//	                 → content-block-finish{index,content:{type:"tool_call",args:{…}}} → message-finish{reason,usage}
//	tools            event tool-started, tool-output-delta, tool-finished{output} or tool-error{message}
//	lifecycle        event started, running, completed, failed{error} or interrupted
//	input.requested  interrupt_id, payload
//	values, updates  the state, as langchain's modes have it
//
// Names are in snake_case on the wire and in camelCase in the specification;
// both are read. The args of a block-delta are the whole text so far from
// JavaScript, and the next piece of it from Python: the assembler of calls
// tells which.

// isProtocol tells an event of the protocol by its envelope, and looks no
// further than it must.
func isProtocol(v jsonscan.Value) bool {
	event := false
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			if event = m.Value.Str == "event"; !event {
				return false
			}
		case "method":
			return event && m.Value.IsString()
		case "event_id", "eventId", "seq":
		default:
			return false
		}
	}
	return false
}

func claimsProtocol(f wire.Frame) wire.Claim {
	if f.Done {
		return wire.No
	}
	if isProtocol(f.JSON) {
		return wire.Surely
	}
	var kind, method, id, result, message jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "type":
			kind = m.Value
		case "method":
			method = m.Value
		case "id":
			id = m.Value
		case "result":
			result = m.Value
		case "message":
			message = m.Value
		}
		if kind.Str == "event" && method.IsString() {
			return wire.Surely
		}
	}
	// The answers to commands, which share the connection.
	if kind.Str == "success" && id.Kind == jsonscan.Number && result.IsObject() ||
		kind.Str == "error" && id.Kind == jsonscan.Number && message.IsString() {
		return wire.Perhaps
	}
	return wire.No
}

func (r reader) decodeProtocol(f wire.Frame) *wire.Problem {
	var method, params, namespace, data jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "method":
			method = m.Value
		case "params":
			params = m.Value
		}
	}
	if !method.Present() {
		return nil // the answer to a command
	}
	if !params.IsObject() {
		return wire.WrongType("params", params, "an object")
	}
	for m := params.Members(); m.Next(); {
		switch m.Key {
		case "namespace":
			namespace = m.Value
		case "data":
			data = m.Value
		}
	}
	if namespace.Present() && !namespace.IsArray() {
		return wire.WrongType("params.namespace", namespace, "a list of strings")
	}
	switch method.Str {
	case "messages", "tools", "lifecycle", "input.requested", "values", "updates":
		if !data.IsObject() {
			return wire.WrongType("params.data", data, "an object")
		}
		return r.protocolEvent(method.Str, r.langNamespace(namespace), data)
	}
	return nil // checkpoints, tasks and custom say nothing of calls
}

func (r reader) protocolEvent(method, ns string, data jsonscan.Value) *wire.Problem {
	switch method {
	case "messages":
		return r.protocolMessage(ns, data)
	case "tools":
		return r.protocolTool(ns, data)
	case "lifecycle":
		r.protocolLife(ns, data)
		return nil
	case "input.requested":
		r.protocolInput(ns, data)
		return nil
	}
	n := r.Len()
	problem := r.protocolState(method, ns, data)
	r.Drop(n, r.d.Streams.hasResult)
	return problem
}

// protocolState reads values, or an update, which is {"node","values"}.
func (r reader) protocolState(method, ns string, data jsonscan.Value) *wire.Problem {
	if method == "values" {
		return r.langValues(ns, data)
	}
	node, update := data.Member("node"), data.Member("values")
	switch {
	case update.Raw == "":
		return r.langUpdates(ns, data)
	case node.Str == interruptKey:
		r.langInterrupts(ns, update)
		return nil
	case update.IsArray():
		return r.langUpdates(ns, data)
	}
	return r.langKeys(ns, update)
}

// protocolLife takes the state of a graph. That of the root is the run's; a
// subgraph that fails takes its open messages with it.
func (r reader) protocolLife(ns string, data jsonscan.Value) {
	var event, run, failure jsonscan.Value
	for m := data.Members(); m.Next(); {
		switch m.Key {
		case "event":
			event = m.Value
		case "run_id", "runId":
			run = m.Value
		case "error":
			failure = m.Value
		}
	}
	if ns != "" {
		if event.Str == "failed" {
			r.Emit(chunks.Chunk{Kind: chunks.Failure, Namespace: ns, Text: r.FailureText(failure)})
		}
		return
	}
	c := chunks.Chunk{Kind: chunks.RunEnd, Run: r.Text(run)}
	switch event.Str {
	case "started", "running":
		c.Kind = chunks.RunStart
	case "completed", "interrupted":
		c.Status = event.Str
	case "failed":
		c.Status, c.Text = "error", r.FailureText(failure)
	default:
		return
	}
	r.Emit(c)
}

// protocolInput takes a question to a person. It comes from a node; the calls
// it is about were made by another of the same graph.
func (r reader) protocolInput(ns string, data jsonscan.Value) {
	c := chunks.Chunk{Kind: chunks.Await, Why: "interrupt"}
	for m := data.Members(); m.Next(); {
		switch m.Key {
		case "interrupt_id", "interruptId":
			c.InterruptID = r.Text(m.Value)
		case "payload":
			for w := m.Value.Members(); w.Next(); {
				if w.Key == "tool_call_id" || w.Key == "toolCallId" {
					c.ID = r.Text(w.Value)
				}
			}
		}
	}
	for ns != "" && !r.d.Messages.heard(ns) {
		ns = ns[:max(0, strings.LastIndexByte(ns, '|'))]
	}
	c.Namespace = ns
	r.Emit(c)
}

// heard tells whether a message was streamed in a namespace or below it.
func (m *messages) heard(ns string) bool {
	for i := range m.Streamed {
		if langWithin(m.Streamed[i].Namespace, ns) {
			return true
		}
	}
	return false
}

// protocolTool takes what a tool that runs tells.
func (r reader) protocolTool(ns string, data jsonscan.Value) *wire.Problem {
	var event, id, name, delta, output, message jsonscan.Value
	for m := data.Members(); m.Next(); {
		switch m.Key {
		case "event":
			event = m.Value
		case "tool_call_id", "toolCallId":
			id = m.Value
		case "tool_name", "toolName":
			name = m.Value
		case "delta":
			delta = m.Value
		case "output":
			output = m.Value
		case "message":
			message = m.Value
		}
	}
	c := chunks.Chunk{Kind: chunks.Progress, Namespace: ns, ID: r.Text(id)}
	if c.ID == "" {
		return wire.WrongType("tool_call_id of tools", id, "a string")
	}
	mem := &r.d.Streams
	switch event.Str {
	case "tool-started":
		mem.retry(c.ID)
	case "tool-output-delta":
		c.Text = r.Text(delta)
		if delta.IsNested() {
			c.Text = r.Compact(delta.Raw)
		}
	case "tool-finished":
		if r.protocolOutput(ns, output) {
			return nil
		}
		c.Kind, c.Name, c.Status = chunks.Result, r.Text(name), "success"
		if c.Text = r.Text(output); output.IsNested() {
			c.Content = r.Compact(output.Raw)
		}
	case "tool-error":
		// A ToolMessage that says so in the framework's words may follow.
		mem.failed(c.ID)
		c.Kind, c.Name, c.Status, c.Text = chunks.Result, r.Text(name), "error", r.Text(message)
	default:
		return nil
	}
	r.Emit(c)
	return nil
}

// protocolOutput emits a tool's output that is a ToolMessage.
func (r reader) protocolOutput(ns string, output jsonscan.Value) bool {
	if !output.IsObject() || !looksLangMessage(output) {
		return false
	}
	m := readLangMessage(output)
	return m.kind == langTool && r.langResult(langPlace{ns: ns}, &m) == nil
}
