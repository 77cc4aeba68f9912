package decode

import (
	"strings"

	"github.com/tidwall/gjson"
)

// What astream_events and streamEvents give, and a server in its mode events:
// https://docs.langchain.com/oss/python/langchain/models#streaming-events
//
//	{"event":"on_chat_model_stream","run_id","metadata":{…},"data":{"chunk":{…}}} …
//	→ {"event":"on_chat_model_end",…,"data":{"output":{…}}} → {"event":"on_tool_end",…,"data":{"output":{…}}}
//
// Of the other events, those of chains repeat the messages of their models.

// langTraced tells such an event.
func langTraced(v gjson.Result) bool {
	name, data := false, false
	for m := members(v); m.next(); {
		switch m.key {
		case "event":
			if name = langTrace(m.value.Str); !name {
				return false
			}
		case "data":
			data = isObject(m.value)
		}
	}
	return name && data
}

func langTrace(name string) bool { return strings.HasPrefix(name, "on_") }

// langTraces reads an event with its name in it.
func (r *Reader) langTraces(v gjson.Result) *Problem {
	var name, data, metadata gjson.Result
	for m := members(v); m.next(); {
		switch m.key {
		case "event":
			name = m.value
		case "data":
			data = m.value
		case "metadata":
			metadata = m.value
		}
	}
	return r.langTold(name.Str, r.langCheckpoint(metadata), data)
}

// langTold reads the data of an event. The output of a model is the whole
// message, even where it has the shape of a piece.
func (r *Reader) langTold(name, ns string, data gjson.Result) *Problem {
	chunk, output := member(data, "chunk"), member(data, "output")
	switch {
	case name == "on_chat_model_stream" && isObject(chunk):
		return r.langMessage(langPlace{ns: ns}, chunk)
	case name == "on_chat_model_end" && isObject(output) && looksLangMessage(output):
		if m := readLangMessage(output); m.kind == langAI || m.kind == langChunk {
			r.langWhole(langPlace{ns: ns}, &m, true)
		}
	case name == "on_tool_end" && isObject(output) && looksLangMessage(output):
		if m := readLangMessage(output); m.kind == langTool {
			return r.langResult(langPlace{ns: ns}, &m)
		}
	}
	return nil
}
