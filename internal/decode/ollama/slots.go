package ollama

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, _ wire.Frame, at wire.Place) (note uint8, ok bool) {
	s.Walk(at, slot)
	return 0, true
}

func slot(path string) wire.Slot {
	switch path {
	case "model", "created_at":
		return wire.Unread
	case "message.content", "message.thinking", "response", "thinking":
		return wire.TextSlot
	}
	return wire.NoSlot
}

// Fill returns false for a text that begins its message.
func (d *Decoder) Fill(*wire.Writer, uint8, *chunks.Chunk) bool { return d.Begun }
