package gemini

import (
	"strings"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// slots are those of a response. Those of a piece of args are of one that continues a
// string: its path comes to Fill as the run of the chunk. A piece that begins or ends the
// string has other args than this slot, so no template is made of it.
var slots = wire.Slots{
	wire.MessageSlot: {"responseId", "response_id"},
	wire.Unread: {
		"modelVersion", "model_version", "createTime", "create_time", "traceId",
		"candidates.*.content.parts.*.thoughtSignature", "candidates.*.content.parts.*.thought_signature",
	},
	wire.TextSlot:    {"candidates.*.content.parts.*.text"},
	wire.RunSlot:     {"candidates.*.content.parts.*.functionCall.partialArgs.*.jsonPath"},
	wire.RawArgsSlot: {"candidates.*.content.parts.*.functionCall.partialArgs.*.stringValue"},
}

// findSlots finds the slots of a text. The code that Google runs and its result
// change the state, so they have no template.
func findSlots(s *wire.SlotFinder, _ wire.Frame, at wire.Place) (note uint8, ok bool) {
	plain := true
	s.Walk(at, func(path string) wire.Slot {
		plain = plain && !ofCode(path)
		return slots.At(strings.TrimPrefix(path, "response."))
	})
	if usage := usageOf(s.Members(at), s); readTokens(usage.Value).counted {
		s.Usage(usage)
	}
	return 0, plain
}

// usageOf returns the usage of a response, alone or as Code Assist wraps it.
func usageOf(members wire.Fields, s *wire.SlotFinder) wire.Place {
	if response := members.Get("response"); response.Raw != "" {
		members = s.Members(response)
	}
	if usage := members.Get("usageMetadata"); usage.Raw != "" {
		return usage
	}
	return members.Get("usage_metadata")
}

func ofCode(path string) bool {
	rest, found := strings.CutPrefix(strings.TrimPrefix(path, "response."), "candidates.*.content.parts.*.")
	return found && (strings.HasPrefix(rest, "executable") || strings.HasPrefix(rest, "code"))
}

// Fill returns false for a text that may begin its message, and for a piece of args that
// does not continue the last string.
func (d *decoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	if c.Kind == chunks.Fragment {
		path := c.Run
		if c.Run = ""; !d.Open || d.Choice != c.Choice || !d.Args.continues(path) {
			return false
		}
	}
	if !d.Begun || d.Bare || d.Continued || d.Message != c.Message || d.Message == "" && d.End.Stopped {
		return false
	}
	d.End.Spared, d.End.Prompt = true, readTokens(jsonscan.ValueOf(c.Usage)).prompt
	return true
}

var interactionSlots = wire.Slots{
	wire.Unread:    {"event_id"},
	wire.BlockSlot: {"index"},
	wire.TextSlot:  {"delta.text", "delta.thought", "delta.content.text", "delta.summary.text"},
	wire.ArgsSlot:  {"delta.arguments"},
}

func findInteractionSlots(s *wire.SlotFinder, f wire.Frame, at wire.Place) (note uint8, ok bool) {
	switch f.JSON.Member("event_type").Str {
	case "step.delta", "content.delta":
	default:
		return 0, false
	}
	switch f.JSON.Member("delta").Member("type").Str {
	case "arguments_delta", "text", "thought", "thought_summary":
		s.Walk(at, interactionSlots.At)
	}
	return 0, s.Has(wire.BlockSlot)
}

// Fill completes the chunk of a delta of the open step.
func (d *interactionsDecoder) Fill(_ *wire.Writer, _ uint8, c *chunks.Chunk) bool {
	c.Message = d.Message
	if c.Kind == chunks.Fragment {
		return d.Step == c.Index
	}
	return wire.IsIndex(d.Step, c.Part)
}
