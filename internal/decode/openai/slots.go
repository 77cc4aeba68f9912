package openai

import "streamer/internal/decode/wire"

func findSlots(s *wire.SlotFinder, _ wire.Frame, at wire.Place) (note uint8, ok bool) {
	s.Walk(at, slot)
	s.Usage(s.Members(at).Get("usage"))
	return 0, true
}

func slot(path string) wire.Slot {
	switch path {
	case "id":
		return wire.MessageSlot
	case "created", "model", "system_fingerprint", "service_tier", "provider", "obfuscation", "p":
		return wire.Unread
	case "choices.*.delta.content", "choices.*.delta.content.*.text", "choices.*.delta.content.*.thinking.*.text",
		"choices.*.delta.reasoning_content", "choices.*.delta.reasoning":
		return wire.TextSlot
	case "choices.*.delta.tool_calls.*.function.arguments":
		return wire.ArgsSlot
	case "choices.*.delta.tool_calls.*.index":
		return wire.IndexSlot
	}
	return wire.NoSlot
}
