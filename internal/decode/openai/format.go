// Package openai reads chat completion chunks of OpenAI and of the many servers
// that are compatible with it.
package openai

import "streamer/internal/decode/wire"

// Chat is the format openai-chat.
type Chat struct{}

// Name returns the name of the format.
func (Chat) Name() string { return "openai-chat" }

// Shape returns the name of the history shape.
func (Chat) Shape() string { return "openai" }

// Claims reports whether a frame can be of this format.
func (Chat) Claims(f wire.Frame) wire.Claim { return claims(f) }

// New returns a Decoder.
func (Chat) New() wire.Decoder { return new(Decoder) }

// Decoder decodes chat completion chunks. It has no state, since each chunk
// names its message.
type Decoder struct{}

// Decode emits the chunks of a frame.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem { return reader{w}.decode(f) }

// Clone returns d.
func (d *Decoder) Clone() wire.Decoder { return d }

// reader reads one frame.
type reader struct{ *wire.Writer }
