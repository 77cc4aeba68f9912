package openai

import "streamer/internal/decode/wire"

// Mistral is the format mistral: https://docs.mistral.ai/api/#tag/chat
//
// A chunk has the shape of OpenAI's. Its calls are whole and often lack index
// and type, the id of later chunks of a call is "null", and content may consist
// of parts.
//
// Streams of Mistral cannot be distinguished from those of other compatible
// servers. The same Decoder reads both, so Mistral is only a name: a stream
// without the header is recognised as openai-chat.
type Mistral struct{ Chat }

// Name returns the name of the format.
func (Mistral) Name() string { return "mistral" }

// Keys returns no names: no frame is surely or perhaps of this format.
func (Mistral) Keys() []string { return nil }

// Claims reports whether a frame can be of this format.
func (Mistral) Claims(f wire.Frame) wire.Claim {
	if claims(f) == wire.No {
		return wire.No
	}
	return wire.IfKnown
}
