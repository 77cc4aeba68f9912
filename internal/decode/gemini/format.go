package gemini

import "streamer/internal/decode/wire"

// Format is the format gemini.
type Format struct{}

// Name returns the name of the format.
func (Format) Name() string { return "gemini" }

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
	c.Args = c.Args.clone()
	return &c
}

// reader reads one frame.
type reader struct {
	*wire.Writer
	d *Decoder
}
