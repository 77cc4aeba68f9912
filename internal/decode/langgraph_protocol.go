package decode

import (
	"strings"

	"streamer/internal/chunks"

	"github.com/tidwall/gjson"
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
func isProtocol(v gjson.Result) bool {
	event := false
	for m := members(v); m.next(); {
		switch m.key {
		case "type":
			if event = m.value.Str == "event"; !event {
				return false
			}
		case "method":
			return event && isString(m.value)
		case "event_id", "eventId", "seq":
		default:
			return false
		}
	}
	return false
}

func claimsProtocol(f Frame) claim {
	if f.Done {
		return no
	}
	if isProtocol(f.JSON) {
		return surely
	}
	var kind, method, id, result, message gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "type":
			kind = m.value
		case "method":
			method = m.value
		case "id":
			id = m.value
		case "result":
			result = m.value
		case "message":
			message = m.value
		}
		if kind.Str == "event" && isString(method) {
			return surely
		}
	}
	// The answers to commands, which share the connection.
	if kind.Str == "success" && id.Type == gjson.Number && isObject(result) ||
		kind.Str == "error" && id.Type == gjson.Number && isString(message) {
		return perhaps
	}
	return no
}

func decodeProtocol(r *Reader, f Frame) *Problem {
	var method, params, namespace, data gjson.Result
	for m := members(f.JSON); m.next(); {
		switch m.key {
		case "method":
			method = m.value
		case "params":
			params = m.value
		}
	}
	if !present(method) {
		return nil // the answer to a command
	}
	if !isObject(params) {
		return wrongType("params", params, "an object")
	}
	for m := members(params); m.next(); {
		switch m.key {
		case "namespace":
			namespace = m.value
		case "data":
			data = m.value
		}
	}
	if present(namespace) && !isArray(namespace) {
		return wrongType("params.namespace", namespace, "a list of strings")
	}
	switch method.Str {
	case "messages", "tools", "lifecycle", "input.requested", "values", "updates":
		if !isObject(data) {
			return wrongType("params.data", data, "an object")
		}
		return r.protocolEvent(method.Str, r.langNamespace(namespace), data)
	}
	return nil // checkpoints, tasks and custom say nothing of calls
}

func (r *Reader) protocolEvent(method, ns string, data gjson.Result) *Problem {
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
	n := len(r.out)
	problem := r.protocolState(method, ns, data)
	r.out = partOf(&r.mem.Protocol).unanswered(r.out, n)
	return problem
}

// protocolState reads values, or an update, which is {"node","values"}.
func (r *Reader) protocolState(method, ns string, data gjson.Result) *Problem {
	if method == "values" {
		return r.langValues(ns, data)
	}
	node, update := member(data, "node"), member(data, "values")
	switch {
	case update.Raw == "":
		return r.langUpdates(ns, data)
	case node.Str == interruptKey:
		r.langInterrupts(ns, update)
		return nil
	case isArray(update):
		return r.langUpdates(ns, data)
	}
	return r.langKeys(ns, update)
}

// protocolLife takes the state of a graph. That of the root is the run's; a
// subgraph that fails takes its open messages with it.
func (r *Reader) protocolLife(ns string, data gjson.Result) {
	var event, run, failure gjson.Result
	for m := members(data); m.next(); {
		switch m.key {
		case "event":
			event = m.value
		case "run_id", "runId":
			run = m.value
		case "error":
			failure = m.value
		}
	}
	if ns != "" {
		if event.Str == "failed" {
			r.emit(chunks.Chunk{Kind: chunks.Failure, Namespace: ns, Text: r.failureText(failure)})
		}
		return
	}
	c := chunks.Chunk{Kind: chunks.RunEnd, Run: r.text(run)}
	switch event.Str {
	case "started", "running":
		c.Kind = chunks.RunStart
	case "completed", "interrupted":
		c.Status = event.Str
	case "failed":
		c.Status, c.Text = "error", r.failureText(failure)
	default:
		return
	}
	r.emit(c)
}

// protocolInput takes a question to a person. It comes from a node; the calls
// it is about were made by another of the same graph.
func (r *Reader) protocolInput(ns string, data gjson.Result) {
	c := chunks.Chunk{Kind: chunks.Await, Why: "interrupt"}
	for m := members(data); m.next(); {
		switch m.key {
		case "interrupt_id", "interruptId":
			c.InterruptID = r.text(m.value)
		case "payload":
			for w := members(m.value); w.next(); {
				if w.key == "tool_call_id" || w.key == "toolCallId" {
					c.ID = r.text(w.value)
				}
			}
		}
	}
	for ns != "" && !partOf(&r.mem.LangChain).heard(ns) {
		ns = ns[:max(0, strings.LastIndexByte(ns, '|'))]
	}
	c.Namespace = ns
	r.emit(c)
}

// heard tells whether a message was streamed in a namespace or below it.
func (m *LangChainMemory) heard(ns string) bool {
	for i := range m.Streamed {
		if langWithin(m.Streamed[i].Namespace, ns) {
			return true
		}
	}
	return false
}

// protocolTool takes what a tool that runs tells.
func (r *Reader) protocolTool(ns string, data gjson.Result) *Problem {
	var event, id, name, delta, output, message gjson.Result
	for m := members(data); m.next(); {
		switch m.key {
		case "event":
			event = m.value
		case "tool_call_id", "toolCallId":
			id = m.value
		case "tool_name", "toolName":
			name = m.value
		case "delta":
			delta = m.value
		case "output":
			output = m.value
		case "message":
			message = m.value
		}
	}
	c := chunks.Chunk{Kind: chunks.Progress, Namespace: ns, ID: r.text(id)}
	if c.ID == "" {
		return wrongType("tool_call_id of tools", id, "a string")
	}
	mem := partOf(&r.mem.Protocol)
	switch event.Str {
	case "tool-started":
		mem.retry(c.ID)
	case "tool-output-delta":
		c.Text = r.text(delta)
		if delta.Type == gjson.JSON {
			c.Text = r.compact(delta.Raw)
		}
	case "tool-finished":
		if r.protocolOutput(ns, output) {
			return nil
		}
		c.Kind, c.Name, c.Status = chunks.Result, r.text(name), "success"
		if c.Text = r.text(output); output.Type == gjson.JSON {
			c.Content = r.compact(output.Raw)
		}
	case "tool-error":
		// A ToolMessage that says so in the framework's words may follow.
		mem.failed(c.ID)
		c.Kind, c.Name, c.Status, c.Text = chunks.Result, r.text(name), "error", r.text(message)
	default:
		return nil
	}
	r.emit(c)
	return nil
}

// protocolOutput emits a tool's output that is a ToolMessage.
func (r *Reader) protocolOutput(ns string, output gjson.Result) bool {
	if !isObject(output) || !looksLangMessage(output) {
		return false
	}
	m := readLangMessage(output)
	return m.kind == langTool && r.langResult(langPlace{ns: ns}, &m) == nil
}
