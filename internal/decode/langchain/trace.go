package langchain

import (
	"cmp"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// The events of astream_events and streamEvents, and of a server in its mode events:
// https://docs.langchain.com/oss/python/langchain/models#streaming-events
//
//	{"event":"on_chat_model_stream","run_id","metadata":{…},"data":{"chunk":{…}}} …
//	→ {"event":"on_chat_model_end",…,"data":{"output":{…}}} → {"event":"on_tool_end",…,"data":{"output":{…}}}
//
// The events of chains repeat the messages of their models, and are the only ones with the
// result of a tool that failed or does not exist. They are read as updates of the state:
// the output of a node, {node: update, …} of a graph, or the whole state.

func isTrace(f wire.Frame) bool {
	var name, data jsonscan.Value
	f.Read(name.From("event"), data.From("data"))
	return isTraceName(name.Str) && data.IsObject()
}

func isTraceName(name string) bool { return strings.HasPrefix(name, "on_") }

func (d *decoder) trace(w *wire.Writer, v jsonscan.Value) *wire.Problem {
	var name, data, metadata jsonscan.Value
	v.Read(name.From("event"), data.From("data"), metadata.From("metadata"))
	return d.traceData(w, name.Str, d.checkpointNamespace(w, metadata), data)
}

// traceData reads the data of an event. The output of a model is the whole message,
// even where it has the shape of a piece.
func (d *decoder) traceData(w *wire.Writer, name, ns string, data jsonscan.Value) *wire.Problem {
	chunk, output := data.Member("chunk"), data.Member("output")
	switch {
	case name == "on_chat_model_stream" && chunk.IsObject():
		return d.message(w, place{ns: ns}, chunk)
	case name == "on_chat_model_end" && output.IsObject() && looksLikeMessage(output):
		if m := readMessage(output); m.kind == kindAI || m.kind == kindAIChunk {
			d.wholeMessage(w, place{ns: ns}, &m, true)
		}
	case name == "on_tool_end" && output.IsObject() && looksLikeMessage(output):
		if m := readMessage(output); m.kind == kindTool {
			return d.resultMessage(w, place{ns: ns}, &m)
		}
	case name == "on_tool_end" && isCommand(output), name == "on_chain_end":
		return d.chainOutput(w, ns, output)
	case name == "on_tool_end":
		w.UnknownMember("data", "output", output)
	case name == "on_chain_stream" && !looksLikeMessage(chunk): // a message is a delta of a model
		d.Messages.pieces = true
		problem := d.chainOutput(w, ns, chunk)
		d.Messages.pieces = false
		return problem
	case !repeats(name):
		w.Unknown("event", name, data)
	}
	return nil
}

// chainOutput reads the output of an on_chain event, or a list of outputs.
func (d *decoder) chainOutput(w *wire.Writer, ns string, v jsonscan.Value) (first *wire.Problem) {
	for e := v.Elements(); e.Next(); {
		if e.Value.IsObject() {
			first = cmp.Or(first, d.chainOutput(w, ns, e.Value))
		}
	}
	if !v.IsObject() {
		return first
	}
	if isCommand(v) {
		return d.stateKeys(w, ns, v.Member("update"))
	}
	if looksLikeMessage(v) {
		return d.stateKey(w, ns, v)
	}
	switch kind, _ := payloadOf(wire.Frame{JSON: v}); kind {
	case updatePayload:
		return d.updates(w, ns, v)
	case valuesPayload:
		return d.stateMembers(w, ns, v, func(value jsonscan.Value) *wire.Problem { return d.stateKey(w, ns, value) })
	}
	return nil
}

// isCommand reports whether v is a Command of LangGraph, {"update","goto",…}.
func isCommand(v jsonscan.Value) bool {
	var name, update, to jsonscan.Value
	v.Read(name.From("lg_name"), update.From("update"), to.From("goto"))
	return update.IsObject() && (name.Str == "Command" || to.Raw != "")
}

// repeats reports whether the data of an event is in other events too, or is no part of
// the conversation.
func repeats(name string) bool {
	switch name {
	case "on_chat_model_start", "on_chat_model_stream", "on_chat_model_end", "on_tool_start", "on_tool_stream", "on_tool_end", "on_tool_error":
		return true
	}
	return wire.HasAnyPrefix(name, "on_chain_", "on_llm_", "on_retriever_", "on_prompt_", "on_parser_", "on_custom_")
}
