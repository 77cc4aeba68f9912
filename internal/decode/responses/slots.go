package responses

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// findSlots finds the slots of a delta. The item_id identifies the item only
// where there is no output_index.
func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	delta, index := wire.TextSlot, wire.NoSlot
	switch f.JSON.Member("type").Str {
	case "response.function_call_arguments.delta", "response.mcp_call_arguments.delta", "response.custom_tool_call_input.delta":
		delta, index = wire.ArgsSlot, wire.IndexSlot
	case "response.output_text.delta", "response.refusal.delta",
		"response.reasoning_text.delta", "response.reasoning_summary_text.delta":
	default:
		return 0, false
	}
	if f.JSON.Member("stream_id").Present() || f.JSON.Member("response_id").Present() {
		return 0, false // it may be of another lane
	}
	item := wire.Unread
	if !f.JSON.Member("output_index").Present() {
		item = wire.NoSlot
	}
	s.Walk(at, func(path string) wire.Slot {
		switch path {
		case "sequence_number", "obfuscation":
			return wire.Unread
		case "item_id":
			return item
		case "output_index":
			return index
		case "delta":
			return delta
		}
		return wire.NoSlot
	})
	return 0, true
}

// Fill completes the chunk of a delta, which belongs to the open response.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	return d.Open && d.Name == ""
}
