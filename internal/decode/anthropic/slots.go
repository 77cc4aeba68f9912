package anthropic

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// FindSlots finds the slots of a content_block_delta.
func FindSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	s.Walk(at, slot)
	return 0, f.JSON.Member("type").Str == "content_block_delta"
}

func slot(path string) wire.Slot {
	switch path {
	case "index":
		return wire.BlockSlot
	case "delta.partial_json":
		return wire.ArgsSlot
	case "delta.text", "delta.thinking":
		return wire.TextSlot
	case "delta.estimated_tokens":
		return wire.Unread
	}
	return wire.NoSlot
}

// Fill completes the chunk of a delta, which belongs to the message that began
// last.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return c.Kind != chunks.Fragment || !d.skips(c.Index)
}
