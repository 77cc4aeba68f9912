package decode

import (
	"encoding/base64"
	"slices"
	"strings"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// frameOf returns the frame in an event. The Offset of the Problem counts from its text.
func frameOf(p framing.Event) (wire.Frame, *wire.Problem) {
	f := wire.Frame{Name: p.Name}
	switch {
	case p.Problem != nil:
		return f, p.Problem
	case p.Rest:
		return f, &wire.Problem{Code: wire.BadJSON, Text: "the rest of a line that is no event"}
	}
	code := framing.IsCode(f.Name) // its JSON may be a string
	if framing.IsDone(p.Text) && !code {
		f.Done = true
		return f, nil
	}
	if !p.Valid {
		if problem := wire.Check(p.Text); problem != nil {
			return f, problem
		}
	}
	f.JSON = jsonscan.ValueOf(p.Text)
	if f.Name == "" {
		f = unwrap(f)
		code = framing.IsCode(f.Name)
	}
	f, problem := unpack(f)
	if problem != nil {
		return f, problem
	}
	// An event may consist of its name alone, with null as data.
	named := f.Name != "" && f.JSON.Kind <= jsonscan.Null
	if !f.JSON.IsNested() && !f.Done && !named && !code {
		return f, wire.WrongShape("the event is %s, not an object", f.JSON.Kind)
	}
	return f, nil
}

// unwrap returns the event in {"event":NAME?,"data":…,"id"?}, which is a server-sent
// event as JSON. Without a name, the data is an object.
func unwrap(f wire.Frame) wire.Frame {
	switch f.JSON.FirstKey() { // most events end here
	case "event", "data", "id":
	default:
		return f
	}
	var name, data jsonscan.Value
	for m := f.JSON.Members(); m.Next(); {
		switch m.Key {
		case "event":
			name = m.Value
		case "data":
			data = m.Value
		case "id":
		default:
			return f
		}
	}
	if name.Kind != jsonscan.String && (name.Present() || !data.IsObject()) || data.Raw == "" {
		return f
	}
	return wire.Frame{Name: name.Str, JSON: data, Done: framing.IsDone(data.Raw) && !framing.IsCode(name.Str)}
}

// tuple reports whether an array is one event of LangGraph, not a list of events:
// [mode, payload], [namespace, payload], [namespace, mode, payload] or
// [chunk, metadata].
func tuple(v jsonscan.Value) bool {
	var first [3]jsonscan.Value
	n := 0
	for e := v.Elements(); n < len(first) && e.Next(); n++ {
		first[n] = e.Value
	}
	switch {
	case n == 2 && (first[0].IsString() || wire.IsNamespace(first[0])):
		return true
	case n == 3 && first[0].IsArray() && first[1].IsString():
		return true
	case n == 2 && first[0].IsObject() && first[1].IsObject():
		return isMetadata(first[1]) && !(first[1].IsEmpty() && certainEvent(first[0].Raw))
	}
	return false
}

// certainEvent reports whether a valid text is an event that is not the first element
// of a message tuple of LangGraph.
func certainEvent(text string) bool {
	f, problem := frameOf(framing.Event{Text: text, Valid: true})
	if problem != nil || find("langchain").Claims(f) >= wire.Perhaps {
		return false
	}
	return slices.ContainsFunc(formats[:], func(format wire.Format) bool { return format.Claims(f) == wire.Surely })
}

// isMetadata reports whether v is the second half of a message tuple of LangGraph.
// Events of other formats have none of these members.
func isMetadata(v jsonscan.Value) bool {
	empty := true
	for m := v.Members(); m.Next(); {
		if strings.HasPrefix(m.Key, "langgraph_") || strings.HasPrefix(m.Key, "ls_") || m.Key == "checkpoint_ns" || m.Key == "__pregel_task_id" {
			return true
		}
		empty = false
	}
	return empty
}

// unpack returns the event in {"bytes":"<base64>"} or {"chunk":{"bytes":…}}. Bedrock's
// InvokeModelWithResponseStream packs the events of the model's own format in this way:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
// Any other frame is returned unchanged.
func unpack(f wire.Frame) (wire.Frame, *wire.Problem) {
	switch f.JSON.FirstKey() { // most events end here
	case "bytes", "chunk", "p":
	default:
		return f, nil
	}
	encoded := packed(f.JSON)
	if encoded == "" {
		return f, nil
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return f, nil
	}
	inner := wire.Trim(wire.Alias(text))
	if p := wire.Check(inner); p != nil {
		p.Offset = 0 // the place is in the packed bytes
		p.Text = "in what bytes holds: " + p.Text
		return f, p
	}
	f.JSON, f.Opened = jsonscan.ValueOf(inner), true
	if f.Name == "chunk" {
		f.Name = ""
	}
	return f, nil
}

// packed returns the base64 text of such a frame, or "". It reads no more members than
// it needs.
func packed(v jsonscan.Value) (encoded string) {
	for m := v.Members(); m.Next(); {
		switch {
		case m.Key == "bytes" && m.Value.IsString():
			encoded = m.Value.Str
		case m.Key == "chunk" && m.Value.IsObject():
			encoded = m.Value.Member("bytes").Str
		case m.Key != "p":
			return ""
		}
	}
	return encoded
}
