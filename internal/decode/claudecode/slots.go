package claudecode

import (
	"streamer/internal/chunks"
	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/wire"
)

func findSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	members := s.Members(at)
	s.Add(members.Get("parent_tool_use_id"), wire.NamespaceSlot)
	for _, key := range [...]string{"session_id", "uuid", "ttft_ms"} {
		s.Add(members.Get(key), wire.Unread)
	}
	note, ok = anthropic.FindSlots(s, wire.Frame{JSON: f.JSON.Member("event")}, members.Get("event"))
	return note, ok && f.Type() == "stream_event"
}

// Fill completes the chunk of a delta, which belongs to the newest message of its
// agent.
func (d *Decoder) Fill(w *wire.Writer, note uint8, c *chunks.Chunk) bool {
	a := d.find(c.Namespace)
	return a.streams() && a.Blocks.Fill(w, note, c)
}
