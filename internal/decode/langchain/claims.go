package langchain

import (
	"slices"
	"strings"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// modes are the stream modes without messages.
var modes = [...]string{"updates", "values", "custom", "debug", "tasks", "checkpoints"}

func isMode(name string) bool {
	rest, messages := strings.CutPrefix(name, "messages")
	return messages && (rest == "" || rest[0] == '/' || rest == "-tuple") || slices.Contains(modes[:], name)
}

func claims(f wire.Frame) wire.Claim {
	switch {
	case f.Done, isProtocol(f): // the protocol has events of the same names
		return wire.No
	case f.Name != "":
		return claimsEvent(f)
	case f.JSON.IsArray():
		return claimsTuple(f.JSON)
	case isPart(f) || isMessage(f) || isTrace(f):
		return wire.Surely
	case f.JSON.IsObject():
		return claimsPayload(f)
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
		return wire.SurelyIf(isTrace(f), wire.Perhaps)
	case "end", "feedback", "heartbeat":
		return wire.Perhaps
	default:
		if isMode(name) || isTraceName(name) && f.JSON.IsObject() {
			return wire.Surely
		}
	}
	return wire.IfNoOther // of a newer server
}

// claimsTuple claims an array. It reads a payload, which may be long, only where no
// mode is named.
func claimsTuple(v jsonscan.Value) wire.Claim {
	e := v.Elements()
	if !e.Next() {
		return wire.No
	}
	first, namespaced := e.Value, false
	if wire.IsNamespace(first) && e.Next() {
		first, namespaced = e.Value, true
	}
	switch {
	case first.IsString() && isMode(first.Str), first.IsObject() && looksLikeMessage(first):
		return wire.Surely
	case namespaced && first.IsObject():
		return claimsPayload(wire.Frame{JSON: first})
	case namespaced && first.IsArray():
		if e := first.Elements(); e.Next() && e.Value.IsObject() && looksLikeMessage(e.Value) {
			return wire.Surely
		}
	}
	return wire.IfNoOther
}

// claimsPayload claims an object that is the payload of a mode which the event does
// not name. The payload of the mode custom can be any object.
func claimsPayload(f wire.Frame) wire.Claim {
	if kind, sure := payloadOf(f); kind != otherPayload {
		return wire.SurelyIf(sure, wire.Perhaps)
	}
	return wire.IfNoOther
}

// isPart reports whether a frame is {"type":mode,"ns":[…],"data":…}.
func isPart(f wire.Frame) bool {
	return isMode(f.Type()) && wire.IsNamespace(f.JSON.Member("ns"))
}

func isUnknownPart(v jsonscan.Value) bool {
	return wire.IsNamespace(v.Member("ns")) && v.Member("data").Present()
}
