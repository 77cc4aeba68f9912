package cohere

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	switch f.JSON.Member("type").Str {
	case "tool-plan-delta", "content-delta", "tool-call-delta":
		s.Walk(at, slot)
		return 0, true
	}
	return 0, false
}

func slot(path string) wire.Slot {
	switch path {
	case "index":
		return wire.BlockSlot
	case "delta.message.tool_plan", "delta.message.content.text", "delta.message.content.thinking":
		return wire.TextSlot
	case "delta.message.tool_calls.function.arguments":
		return wire.ArgsSlot
	}
	return wire.NoSlot
}

// Fill completes the chunk of a delta, which belongs to the message that began
// last.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return true
}
