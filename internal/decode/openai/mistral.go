package openai

import "streamer/internal/decode/wire"

// Mistral is the format mistral. A chunk of Mistral's is OpenAI's, with whole
// calls that often lack index and type, an id "null" after the first, and
// content in parts: https://docs.mistral.ai/api/#tag/chat
//
// Its streams cannot be distinguished from those of other compatible servers,
// and need not be, because the same Decoder reads them. Mistral is therefore
// only a name: a stream without the header is recognised as openai-chat.
type Mistral struct{ Chat }

// Name returns the name of the format.
func (Mistral) Name() string { return "mistral" }

// Claims reports whether a frame can be of this format.
func (Mistral) Claims(f wire.Frame) wire.Claim {
	if claims(f) == wire.No {
		return wire.No
	}
	return wire.IfKnown
}
