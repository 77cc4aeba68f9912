// Package langchain reads the streams of LangChain and LangGraph, in Python and
// JavaScript.
//
// Format reads messages and the stream modes of LangGraph:
// https://docs.langchain.com/oss/python/langgraph/streaming
//
//	message                        an AIMessageChunk alone, in any of its shapes (message.go)
//	[message, metadata]            stream_mode messages
//	[mode, payload]                a list of modes
//	[[ns, …], mode, payload]       a list of modes, with subgraphs
//	payload, [[ns, …], payload]    one mode, which is not named (payload.go)
//	{"type":mode,"ns":[…],"data"}  the parts of the SDK
//	{"event":"on_…","data",…}      the events of astream_events (trace.go)
//	event: mode|ns|…, data         the SSE of the server, which also has metadata, error, end and messages/partial
//
// The namespace of a message is the whole checkpoint namespace of its metadata,
// with the node. It is the same in all of these. The namespace beside the mode has
// the node in JavaScript and lacks it in Python. It is used only for updates and
// values, which have no metadata.
//
// Protocol reads the agent streaming protocol. The two formats are one package
// because a server may send both in one session, with the same message ids.
package langchain

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Format returns the format langchain.
func Format() wire.Format {
	return wire.Format{
		Name: "langchain", Shape: "langchain",
		Claims:    claims,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

// decoder decodes the events of a session. Its fields are the state between events
// of both formats.
type decoder struct {
	Messages messages
	// Streams is nil unless the session has events of langgraph-protocol.
	Streams *protocol
}

func (d *decoder) Fields(f *stored.Fields) {
	stored.Object(f, "l", &d.Messages, (*messages).fields)
	stored.Pointer(f, "p", &d.Streams, (*protocol).fields)
}

func (d *decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	if f.Name != "" {
		mode, ns, _ := strings.Cut(f.Name, "|")
		return d.event(w, mode, ns, f.JSON)
	}
	if f.JSON.IsArray() {
		return d.tuple(w, f.JSON)
	}
	if isPart(f) || f.Type() != "" && isUnknownPart(f.JSON) {
		return d.part(w, f.JSON)
	}
	if isTrace(f) {
		return d.trace(w, f.JSON)
	}
	return d.payload(w, "", f)
}
