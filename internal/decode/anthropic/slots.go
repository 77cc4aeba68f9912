package anthropic

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// FindSlots finds the slots of a content_block_delta.
func (Format) FindSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	if f.JSON.Member("type").Str != "content_block_delta" {
		return 0, false
	}
	s.Walk(at, slot)
	if s.Has(wire.ArgsSlot) {
		s.Add(s.Members(at)["index"], wire.IndexSlot)
	} else {
		s.Add(s.Members(at)["index"], wire.PartSlot)
	}
	return 0, true
}

func slot(path string) wire.Slot {
	switch path {
	case "delta.partial_json":
		return wire.ArgsSlot
	case "delta.text", "delta.thinking":
		return wire.TextSlot
	}
	return wire.NoSlot
}

// Fill emits the chunk of a delta, which belongs to the message that began last.
func (d *Decoder) Fill(w *wire.Writer, _ uint8, c chunks.Chunk) {
	c.Message = d.Message
	if c.Kind == chunks.Fragment && d.skips(c.Index) {
		return
	}
	w.Emit(c)
}
