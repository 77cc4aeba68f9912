package geminicli

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	if f.Type() != "message" {
		return 0, false
	}
	s.Walk(at, func(path string) wire.Slot {
		switch path {
		case "content":
			return wire.TextSlot
		case "timestamp":
			return wire.Unread
		}
		return wire.NoSlot
	})
	return 0, true
}

// Fill completes the chunk of a text, which belongs to the open message.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	if !d.Open || d.Answered {
		return false
	}
	d.Written, c.Part = true, d.Part
	return true
}
