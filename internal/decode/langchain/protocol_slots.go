package langchain

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

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
	wire.ArgsSlot:  {"params.data.delta.fields.args"},
}

// Fill completes the chunk of a delta of the message that is open in its
// namespace and run.
func (d *protocolDecoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	at := d.Streams.find(c.Namespace, c.Run)
	if at < 0 || d.Streams.Open[at].Silent {
		return false
	}
	d.Streams.streamed(at)
	c.Message, c.Run = d.Streams.Open[at].ID, ""
	if c.ID != "" {
		c.ParentCall = d.Streams.causeOf(c.Namespace)
	}
	return true
}
