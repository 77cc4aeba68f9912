package langchain

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// findSlots finds the message, and its metadata, in the modes that contain
// deltas.
func findSlots(s *wire.SlotFinder, f wire.Frame, v wire.Place) (note uint8, ok bool) {
	mode, _, _ := strings.Cut(f.Name, "|")
	var namespace wire.Place
	switch {
	case f.Name != "":
	case v.IsArray():
		mode, namespace, v = placeOfMode(s, v)
	case isPart(wire.Frame{JSON: v.Value}):
		parts := s.Members(v)
		mode, v = parts.Get("type").Str, parts.Get("data")
	default:
		mode = "messages"
	}
	if mode != "messages" && mode != "messages-tuple" {
		return 0, false
	}
	msg := v
	if v.IsArray() {
		both := s.Elements(v)
		if len(both) != 2 {
			return 0, false
		}
		msg = both[0]
		if metadataSlots(s, both[1]) {
			s.Walk(namespace, func(string) wire.Slot { return wire.Unread })
		}
	}
	m := readMessage(msg.Value)
	if m.kind != kindAIChunk {
		return 0, false
	}
	fields := s.Members(msg)
	inner, at := 0, msg
	for _, key := range [...]string{"kwargs", "data"} {
		if p := fields.Get(key); p.IsObject() {
			inner, at = inner+1, p
		}
	}
	s.Walk(at, messageSlots.At)
	return uint8(summarize(&m, messageEnd{})), inner < 2
}

// placeOfMode returns the mode of an event that is an array, the namespace
// before it, if there is one, and its payload.
func placeOfMode(s *wire.SlotFinder, v wire.Place) (mode string, namespace, payload wire.Place) {
	list := s.Elements(v)
	if len(list) == 3 && list[0].IsArray() {
		namespace, list = list[0], list[1:]
	}
	switch {
	case len(list) != 2:
		return "", namespace, v
	case wire.IsNamespace(list[0].Value): // one mode, which is not named
		return "messages", list[0], list[1]
	case list[0].IsString():
		return list[0].Str, namespace, list[1]
	}
	return "messages", namespace, v
}

// metadataSlots adds the slots of the metadata of a message. It reports whether
// the metadata has a namespace, which takes precedence over any other.
func metadataSlots(s *wire.SlotFinder, v wire.Place) bool {
	first := "checkpoint_ns"
	if s.Members(v).Get("langgraph_checkpoint_ns").Raw != "" {
		first = "langgraph_checkpoint_ns"
	}
	s.Walk(v, func(path string) wire.Slot {
		if path == first {
			return wire.NamespaceSlot
		}
		return wire.Unread
	})
	return s.Has(wire.NamespaceSlot)
}

var messageSlots = wire.Slots{
	wire.MessageSlot: {"id"},
	wire.TextSlot: {
		"content", "content.*", "content.*.text", "content.*.thinking", "content.*.reasoning",
		"content.*.reasoning_content", "content.*.reasoning_content.text", "content.*.reasoning.text",
		"content.*.thinking.text", "additional_kwargs.reasoning_content",
	},
	wire.ArgsSlot:  {"tool_call_chunks.*.args"},
	wire.IndexSlot: {"tool_call_chunks.*.index"},
	wire.ArgsCopy: {
		"content.*.partial_json", "content.*.input", "invalid_tool_calls.*.args",
		"additional_kwargs.tool_calls.*.function.arguments",
	},
	wire.Unread: {"additional_kwargs.reasoning.summary.*.text"}, // a copy of the content
}

// Fill completes the chunk of a piece of a message. Where the message has a new
// name, it emits that before the chunk.
func (d *decoder) Fill(w *wire.Writer, note uint8, c *chunks.Chunk) bool {
	d.Messages.Live = true
	name, was := d.Messages.stream(c.Namespace, c.Message, summary(note))
	c.Message = name
	if was != "" {
		w.EmitBeforeLast(chunks.Chunk{Kind: chunks.Rename, Namespace: c.Namespace, Message: name, ID: was})
	}
	return true
}

// findProtocolSlots finds the slots of a content-block-delta. A namespace of several
// parts has no slot.
func findProtocolSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	params := f.JSON.Member("params")
	if f.JSON.Member("method").Str != "messages" || params.Member("data").Member("event").Str != "content-block-delta" {
		return 0, false
	}
	parts := 0
	for e := params.Member("namespace").Elements(); e.Next(); {
		parts++
	}
	s.Walk(at, func(path string) wire.Slot {
		if path == "params.namespace.*" && parts == 1 {
			return wire.NamespaceSlot
		}
		return protocolSlots.At(path)
	})
	return 0, true
}

var protocolSlots = wire.Slots{
	wire.Unread:    {"event_id", "eventId", "seq", "params.timestamp"},
	wire.RunSlot:   {"params.data.run_id", "params.data.runId"},
	wire.BlockSlot: {"params.data.index"},
	wire.TextSlot:  {"params.data.delta.text", "params.data.delta.reasoning"},
	wire.CallSlot:  {"params.data.delta.fields.id"},
	wire.ArgsSlot:  {"params.data.delta.fields.args", "params.data.delta.args"},
}

// Fill completes the chunk of a delta of the message that is open in its
// namespace and run.
func (d *protocolDecoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	at := d.Streams.find(c.Namespace, c.Run)
	open := d.Streams.at(at)
	if at < 0 || open.Silent {
		return false
	}
	open.Streamed = true
	c.Message, c.Run = open.ID, ""
	if c.ID != "" {
		c.ParentCall = d.Streams.causeOf(c.Namespace)
	}
	return true
}
