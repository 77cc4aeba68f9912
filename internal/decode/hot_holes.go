package decode

import (
	"slices"
	"strings"
)

func openAIHole(path string) hole {
	switch path {
	case "id":
		return holeMessage
	case "created", "model", "system_fingerprint", "service_tier", "provider", "obfuscation":
		return holeUnread
	case "choices.*.delta.content", "choices.*.delta.reasoning_content", "choices.*.delta.reasoning":
		return holeText
	case "choices.*.delta.tool_calls.*.function.arguments":
		return holeArgs
	case "choices.*.delta.tool_calls.*.index":
		return holeIndex
	}
	return noHole
}

func anthropicHole(path string) hole {
	switch path {
	case "delta.partial_json":
		return holeArgs
	case "delta.text", "delta.thinking":
		return holeText
	case "index":
		return holeIndex
	}
	return noHole
}

// langChain finds the message, and its metadata, in the forms of modes that
// langDelta reads.
func (k *caster) langChain(name string, v mouldPlace) (said langSaid, ok bool) {
	mode, _, _ := strings.Cut(name, "|")
	var above mouldPlace
	switch {
	case name != "":
	case isArray(v.Result):
		mode, above, v = k.langTuple(v)
	case langPart(v.Result):
		parts := k.list(v)
		mode, v = parts["type"].Str, parts["data"]
	default:
		mode = "messages"
	}
	if mode != "messages" && mode != "messages-tuple" {
		return said, false
	}
	msg := v
	if isArray(v.Result) {
		both := k.items(v)
		if len(both) != 2 {
			return said, false
		}
		msg = both[0]
		if k.langMetadata(both[1]) {
			k.walk("", above, func(string) hole { return holeUnread })
		}
	}
	m := readLangMessage(msg.Result)
	if m.kind != langChunk {
		return said, false
	}
	fields := k.list(msg)
	inner, at := 0, msg
	for _, key := range [...]string{"kwargs", "data"} {
		if isObject(fields[key].Result) {
			inner, at = inner+1, fields[key]
		}
	}
	k.walk("", at, langHole)
	return langSays(&m, langEnd{}), inner < 2
}

// langTuple gives the mode of an event that is an array, its payload, and the
// namespace that stands before them, if one does.
func (k *caster) langTuple(v mouldPlace) (mode string, above, payload mouldPlace) {
	list := k.items(v)
	if len(list) == 3 && isArray(list[0].Result) {
		above, list = list[0], list[1:]
	}
	switch {
	case len(list) != 2:
		return "", above, v
	case isString(list[0].Result):
		return list[0].Str, above, list[1]
	}
	return "messages", above, v
}

// langMetadata finds the namespace of a message in its metadata, and tells
// whether there is one, which counts more than any that stands elsewhere.
func (k *caster) langMetadata(v mouldPlace) bool {
	first, n := "checkpoint_ns", len(k.found)
	if _, ok := k.list(v)["langgraph_checkpoint_ns"]; ok {
		first = "langgraph_checkpoint_ns"
	}
	k.walk("", v, func(path string) hole {
		if path == first {
			return holeNamespace
		}
		return holeUnread
	})
	return slices.ContainsFunc(k.found[n:], func(f mouldHole) bool { return f.hole == holeNamespace })
}

func langHole(path string) hole {
	switch path {
	case "id":
		return holeMessage
	case "content", "content.*", "content.*.text", "content.*.thinking", "content.*.reasoning",
		"content.*.reasoning_content", "content.*.reasoning_content.text", "content.*.reasoning.text",
		"content.*.thinking.text", "additional_kwargs.reasoning_content":
		return holeText
	case "tool_call_chunks.*.args":
		return holeArgs
	case "tool_call_chunks.*.index":
		return holeIndex
	case "content.*.partial_json", "content.*.input", "invalid_tool_calls.*.args",
		"additional_kwargs.tool_calls.*.function.arguments":
		return holeEcho
	}
	return noHole
}
