package wire

import (
	"streamer/internal/chunks"
	"streamer/internal/jsonscan"
)

// Choice identifies the message and the choice of a chunk.
type Choice struct {
	Message string
	Index   int
	Whole   bool // the message was not streamed
	Varies  bool // the id of the message may change within it; see chunks.Chunk.IDVaries
}

// Content emits the text of a message. It is a string, or a list of parts as
// Mistral sends them: {"type":"text","text"} and
// {"type":"thinking","thinking":[…]}.
func (w *Writer) Content(of Choice, kind chunks.Kind, v jsonscan.Value) {
	if !v.IsArray() {
		if s := w.Text(v); s != "" {
			w.Emit(chunks.Chunk{Kind: kind, Message: of.Message, Choice: of.Index, IDVaries: of.Varies, Text: s})
		}
		return
	}
	for e := v.Elements(); e.Next(); {
		for m := e.Value.Members(); m.Next(); {
			switch m.Key {
			case "text":
				if m.Value.IsString() {
					w.Content(of, kind, m.Value)
				}
			case "thinking":
				for t := m.Value.Elements(); t.Next(); {
					w.Content(of, chunks.Reasoning, t.Value.Member("text"))
				}
			}
		}
	}
}

// OpenAICall emits an entry of tool_calls, which may be incomplete.
func (w *Writer) OpenAICall(of Choice, call jsonscan.Value) {
	var id, function, custom jsonscan.Value
	index, kind := "", ""
	for m := call.Members(); m.Next(); {
		switch m.Key {
		case "index":
			if m.Value.Present() {
				index = m.Value.Raw
			}
		case "id":
			id = m.Value
		case "type":
			if m.Value.Str == "custom" {
				kind = "custom"
			}
		case "function":
			function = m.Value
		case "custom":
			custom = m.Value
		default:
			w.UnknownMember("tool_calls", m.Key, m.Value)
		}
	}
	if custom.IsObject() {
		w.OpenAIFunction(of, custom, index, w.Text(id), "custom")
		return
	}
	w.OpenAIFunction(of, function, index, w.Text(id), kind)
}

// OpenAIFunction emits a fragment from {"name","arguments"}, or of a custom
// tool {"name","input"}. It emits nothing where all of them are empty.
func (w *Writer) OpenAIFunction(of Choice, function jsonscan.Value, index, id, kind string) {
	var name, args jsonscan.Value
	w.ReadKnown("function", function, name.From("name"), args.From("arguments"), args.From("input"))
	c := chunks.Chunk{
		Kind: chunks.Fragment, Message: of.Message, Choice: of.Index, Whole: of.Whole, IDVaries: of.Varies,
		Index: index, ID: id, Name: w.Text(name), CallKind: kind,
	}
	if c.Object = args.IsNested(); c.Object {
		c.Args = w.Compact(args.Raw)
	} else {
		c.Args = w.Text(args)
	}
	if c.ID != "" || c.Name != "" || c.Args != "" {
		w.Emit(c)
	}
}

// RawIndex returns the index of a call as written, and "" where it is null or
// missing.
func RawIndex(v jsonscan.Value) string {
	if !v.Present() {
		return ""
	}
	return v.Raw
}
