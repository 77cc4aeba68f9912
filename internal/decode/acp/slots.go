package acp

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	kind := f.JSON.Member("params").Member("update").Member("sessionUpdate").Str
	if kind != "agent_message_chunk" && kind != "agent_thought_chunk" {
		return 0, false
	}
	s.Walk(at, func(path string) wire.Slot {
		switch path {
		case "params.update.content.text":
			return wire.TextSlot
		case "params.update.messageId":
			return wire.MessageSlot
		case "params.sessionId":
			return wire.Unread
		}
		return wire.NoSlot
	})
	return 0, true
}

// Fill completes the chunk of a text or thought, which belongs to the open message.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	goes := !d.Answered && (c.Message == "" || c.Kind == chunks.Reasoning) || c.Message != "" && c.Message == d.Message
	if !d.Open || !goes || d.Asking || len(d.Loads) > 0 {
		return false
	}
	d.Written = true
	c.Message, c.Part = d.Message, d.Part
	return true
}
