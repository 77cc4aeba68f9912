package bedrock

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	kind, _ := readEvent(f)
	s.Walk(at, slot)
	return 0, kind == "contentBlockDelta" && s.Has(wire.BlockSlot)
}

// slot takes the payload alone, or in its event, which may be in {"event"}.
func slot(path string) wire.Slot {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "event."), "contentBlockDelta.")
	switch path {
	case "p": // padding
		return wire.Unread
	case "contentBlockIndex":
		return wire.BlockSlot
	case "delta.text", "delta.reasoningContent.text":
		return wire.TextSlot
	case "delta.toolUse.input":
		return wire.ArgsSlot
	}
	return wire.NoSlot
}

// Fill returns false for a text that begins its block.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	return c.Kind == chunks.Fragment || d.Kind == wire.PartBlock && wire.IsIndex(d.Block, c.Part)
}
