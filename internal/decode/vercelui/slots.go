package vercelui

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// findSlots finds the slots of a delta of a call, a text or a reasoning. The
// parts of the fullStream name the call with id.
func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	id, delta := "id", wire.TextSlot
	switch f.JSON.Member("type").Str {
	case "text-delta", "reasoning-delta":
	case "tool-input-delta", "tool-call-delta":
		delta = wire.ArgsSlot
		if f.JSON.Member("toolCallId").Present() {
			id = "toolCallId"
		}
	default:
		return 0, false
	}
	s.Walk(at, func(path string) wire.Slot {
		switch path {
		case id:
			return wire.CallSlot
		case "delta", "inputTextDelta", "text", "argsTextDelta":
			return delta
		}
		return wire.NoSlot
	})
	return 0, true
}

// Fill completes the chunk of a delta, which belongs to the current message. The
// id of a text is that of its part, which must be open.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	if c.Kind == chunks.Fragment {
		return true
	}
	c.Part, c.ID = d.openPart(c.ID), ""
	return c.Part > 0
}
