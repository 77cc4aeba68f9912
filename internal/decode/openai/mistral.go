package openai

import "streamer/internal/decode/wire"

// Mistral returns the format mistral: https://docs.mistral.ai/api/#tag/chat
//
// A chunk has the shape of OpenAI's. Its calls are whole and often lack index
// and type, the id of later chunks of a call is "null", and content may consist
// of parts.
//
// Streams of Mistral cannot be distinguished from those of other compatible
// servers. The same decoder reads both, so Mistral is only a name: a stream
// without the header is recognised as openai-chat.
func Mistral() wire.Format {
	return wire.Format{
		Name: "mistral", Shape: "openai",
		Keys:      []string{},
		Claims:    claimsMistral,
		New:       func() wire.Decoder { return new(decoder) },
		FindSlots: findSlots,
	}
}

func claimsMistral(f wire.Frame) wire.Claim {
	if claims(f) == wire.No {
		return wire.No
	}
	return wire.IfKnown
}
