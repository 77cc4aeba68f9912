package langchain

import (
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// modes are the stream modes without messages.
var modes = [...]string{"updates", "values", "custom", "debug", "tasks", "checkpoints"}

// isMode reports whether a stream mode of this name exists.
func isMode(name string) bool {
	for _, m := range modes {
		if name == m {
			return true
		}
	}
	return strings.HasPrefix(name, "messages") && (len(name) == len("messages") || name[len("messages")] == '/' || name == "messages-tuple")
}

// claims is Claims of Format.
func claims(f wire.Frame) wire.Claim {
	switch {
	case f.Done, isProtocol(f.JSON): // the protocol has events of the same names
		return wire.No
	case f.Name != "":
		return claimsEvent(f)
	case f.JSON.IsArray():
		return claimsTuple(f.JSON)
	case isPart(f.JSON) || looksLikeMessage(f.JSON) || isTrace(f.JSON):
		return wire.Surely
	}
	return wire.No
}

// claimsEvent claims an event of the server by its name, and by its data where other
// formats have events of that name.
func claimsEvent(f wire.Frame) wire.Claim {
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
		if isTrace(f.JSON) {
			return wire.Surely
		}
		return wire.Perhaps
	case "end", "feedback", "heartbeat":
		return wire.Perhaps
	default:
		if isMode(name) || isTraceName(name) && f.JSON.IsObject() {
			return wire.Surely
		}
	}
	return wire.No
}

// claimsTuple claims an array. It does not read a payload, which may be long.
func claimsTuple(v jsonscan.Value) wire.Claim {
	e := v.Elements()
	if !e.Next() {
		return wire.No
	}
	first := e.Value
	if first.IsArray() && e.Next() {
		first = e.Value
	}
	if first.IsString() && isMode(first.Str) || first.IsObject() && looksLikeMessage(first) {
		return wire.Surely
	}
	return wire.No
}

// isPart reports whether v is {"type":mode,"ns":[…],"data":…}.
func isPart(v jsonscan.Value) bool {
	mode, ns := false, false
	for m := v.Members(); m.Next(); {
		switch m.Key {
		case "type":
			mode = isMode(m.Value.Str)
		case "ns":
			ns = m.Value.IsArray()
		case "data", "interrupts":
		default:
			return false
		}
	}
	return mode && ns
}
