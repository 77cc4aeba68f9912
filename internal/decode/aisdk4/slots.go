package aisdk4

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	switch f.Name {
	case "0", "g":
		s.Add(at, wire.TextSlot)
		return 0, true
	case "c":
		s.Walk(at, func(path string) wire.Slot {
			switch path {
			case "toolCallId":
				return wire.CallSlot
			case "argsTextDelta":
				return wire.ArgsSlot
			}
			return wire.NoSlot
		})
		return 0, true
	}
	return 0, false
}

// Fill completes the chunk of a delta, which belongs to the message of the open step.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return d.Open && (c.Kind != chunks.Fragment || c.ID != "")
}
