package gemini

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// FindSlots finds the slots of a text.
func (Format) FindSlots(s *wire.SlotFinder, _ wire.Frame, at wire.Place) (note uint8, ok bool) {
	s.Walk(at, slot)
	return 0, true
}

// slot takes a response, alone or as Code Assist wraps it.
func slot(path string) wire.Slot {
	switch strings.TrimPrefix(path, "response.") {
	case "responseId", "response_id":
		return wire.MessageSlot
	case "modelVersion", "model_version", "createTime", "create_time", "traceId",
		"candidates.*.content.parts.*.thoughtSignature", "candidates.*.content.parts.*.thought_signature":
		return wire.Unread
	case "candidates.*.content.parts.*.text":
		return wire.TextSlot
	}
	return wire.NoSlot
}

// Fill returns false for a text that may begin its message.
func (d *Decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	return d.Begun && d.Message == c.Message && (d.Message != "" || !d.End.Stopped)
}

// FindSlots finds the slots of a step.delta.
func (Interactions) FindSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	switch f.JSON.Member("event_type").Str {
	case "step.delta", "content.delta":
	default:
		return 0, false
	}
	switch f.JSON.Member("delta").Member("type").Str {
	case "arguments_delta", "text", "thought", "thought_summary":
		s.Walk(at, interactionSlot)
	}
	return 0, s.Has(wire.BlockSlot)
}

func interactionSlot(path string) wire.Slot {
	switch path {
	case "event_id":
		return wire.Unread
	case "index":
		return wire.BlockSlot
	case "delta.text", "delta.thought", "delta.content.text", "delta.summary.text":
		return wire.TextSlot
	case "delta.arguments":
		return wire.ArgsSlot
	}
	return wire.NoSlot
}

// Fill completes the chunk of a delta of the open step.
func (d *InteractionsDecoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	if c.Kind == chunks.Fragment {
		return d.Step == c.Index
	}
	return wire.IsIndex(d.Step, c.Part)
}
