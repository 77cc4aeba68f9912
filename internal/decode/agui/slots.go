package agui

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
)

// findSlots finds the slots of a delta. The note is the kind of the item that
// the delta continues, and noteChunk.
func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	delta := wire.TextSlot
	var kind itemKind
	switch f.Type() {
	case "TOOL_CALL_ARGS", "TOOL_CALL_CHUNK":
		kind, delta = callItem, wire.ArgsSlot
	case "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CHUNK":
		kind = textItem
	case "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT":
		kind = reasoningItem
	default:
		return 0, false
	}
	s.Walk(at, func(path string) wire.Slot {
		switch {
		case path == "delta":
			return delta
		case path == "toolCallId" && kind == callItem:
			return wire.CallSlot
		case path == "messageId" && kind != callItem:
			return wire.MessageSlot
		case path == "timestamp", strings.HasPrefix(path, "rawEvent."): // it is read only where a call begins
			return wire.Unread
		case path == "subagentRunId":
			return wire.NamespaceSlot
		}
		return wire.NoSlot
	})
	note = uint8(kind)
	if strings.HasSuffix(f.Type(), "_CHUNK") {
		note |= noteChunk
	}
	return note, true
}

// noteChunk is the bit of a note for an event that opens its item itself.
const noteChunk = 1 << 7

// Fill completes the chunk of a delta whose item is open, where the event
// closes no other item.
func (d *decoder) Fill(_ *wire.Writer, note uint8, c *chunks.Chunk) bool {
	kind, chunk := itemKind(note&^noteChunk), note&noteChunk != 0
	id := c.Message
	if kind == callItem {
		id = c.ID
	}
	for i := range d.Items {
		item := &d.Items[i]
		continued := chunk && item.Kind.chunk() == kind.chunk() && sameID(item.ID, id)
		if item.Chunk && item.Namespace == c.Namespace && !continued {
			return false
		}
	}
	if kind == callItem {
		return fillCall(c, d.findCall(c.Namespace, id), chunk)
	}
	item := d.findContent(kind, c.Namespace, id)
	if item == nil || item.Kind == mutedItem || item.Kind == humanItem {
		return false
	}
	c.Message = item.Message
	return true
}

func fillCall(c *chunks.Chunk, call *Item, chunk bool) bool {
	if call == nil || call.Kind == repeatedCall {
		return false
	}
	c.Message = call.Message
	if chunk {
		c.ID = call.ID
	}
	return true
}
