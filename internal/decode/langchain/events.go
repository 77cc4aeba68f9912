package langchain

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// What astream_events and streamEvents give, and a server in its mode events:
// https://docs.langchain.com/oss/python/langchain/models#streaming-events
//
//	{"event":"on_chat_model_stream","run_id","metadata":{…},"data":{"chunk":{…}}} …
//	→ {"event":"on_chat_model_end",…,"data":{"output":{…}}} → {"event":"on_tool_end",…,"data":{"output":{…}}}
//
// Of the other events, those of chains repeat the messages of their models.

// langTraced tells such an event.
func langTraced(v jsonscan.Value) bool {
	name, data := false, false
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "event":
			if name = langTrace(m.Value.Str); !name {
				return false
			}
		case "data":
			data = m.Value.IsObject()
		}
	}
	return name && data
}

func langTrace(name string) bool { return strings.HasPrefix(name, "on_") }

// langTraces reads an event with its name in it.
func (r reader) langTraces(v jsonscan.Value) *wire.Problem {
	var name, data, metadata jsonscan.Value
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "event":
			name = m.Value
		case "data":
			data = m.Value
		case "metadata":
			metadata = m.Value
		}
	}
	return r.langTold(name.Str, r.langCheckpoint(metadata), data)
}

// langTold reads the data of an event. The output of a model is the whole
// message, even where it has the shape of a piece.
func (r reader) langTold(name, ns string, data jsonscan.Value) *wire.Problem {
	chunk, output := data.Member("chunk"), data.Member("output")
	switch {
	case name == "on_chat_model_stream" && chunk.IsObject():
		return r.langMessage(langPlace{ns: ns}, chunk)
	case name == "on_chat_model_end" && output.IsObject() && looksLangMessage(output):
		if m := readLangMessage(output); m.kind == langAI || m.kind == langChunk {
			r.langWhole(langPlace{ns: ns}, &m, true)
		}
	case name == "on_tool_end" && output.IsObject() && looksLangMessage(output):
		if m := readLangMessage(output); m.kind == langTool {
			return r.langResult(langPlace{ns: ns}, &m)
		}
	}
	return nil
}
