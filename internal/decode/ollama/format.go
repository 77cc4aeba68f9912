package ollama

import "streamer/internal/decode/wire"

// Format is the format ollama.
type Format struct{}

// Name returns the name of the format.
func (Format) Name() string { return "ollama" }

// Shape returns the name of the history shape.
func (Format) Shape() string { return "openai" }

// Claims reports whether a frame can be of this format.
func (Format) Claims(f wire.Frame) wire.Claim { return claims(f) }

// New returns a Decoder without state.
func (Format) New() wire.Decoder { return new(Decoder) }

// Decode emits the chunks of a frame.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	return reader{w, d}.decode(f)
}

// Clone returns an independent copy.
func (d *Decoder) Clone() wire.Decoder {
	c := *d
	return &c
}

// reader reads one frame.
type reader struct {
	*wire.Writer
	d *Decoder
}
