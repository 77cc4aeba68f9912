package langchain

import "streamer/internal/decode/wire"

// Format is the format langchain.
type Format struct{}

// Name returns the name of the format.
func (Format) Name() string { return "langchain" }

// Shape returns the name of the history shape.
func (Format) Shape() string { return "langchain" }

// Claims reports whether a frame can be of this format.
func (Format) Claims(f wire.Frame) wire.Claim { return claims(f) }

// New returns a Decoder without state.
func (Format) New() wire.Decoder { return new(Decoder) }

// Protocol is the format langgraph-protocol. It shares its Decoder, and so the
// ids of messages, with Format.
type Protocol struct{ Format }

// Name returns the name of the format.
func (Protocol) Name() string { return "langgraph-protocol" }

// Claims reports whether a frame can be of this format.
func (Protocol) Claims(f wire.Frame) wire.Claim { return claimsProtocol(f) }

// Shared returns Format, whose Decoder is used.
func (p Protocol) Shared() wire.Format { return p.Format }

// View returns a Decoder of this format with the state of a Decoder of Format.
func (Protocol) View(d wire.Decoder) wire.Decoder { return (*protocolDecoder)(d.(*Decoder)) }

type protocolDecoder Decoder

// Decode emits the chunks of a frame.
func (d *protocolDecoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	return reader{w, (*Decoder)(d)}.decodeProtocol(f)
}

// Clone returns an independent copy.
func (d *protocolDecoder) Clone() wire.Decoder {
	c := *d
	return &c
}

// Decoder decodes the format langchain and holds the state of both formats.
type Decoder struct {
	Messages messages `json:"l,omitzero"`
	Streams  protocol `json:"p,omitzero"`
}

// Decode emits the chunks of a frame.
func (d *Decoder) Decode(w *wire.Writer, f wire.Frame) *wire.Problem {
	return reader{w, d}.decode(f)
}

// Clone returns an independent copy. The slices of d are never written to once
// they are set.
func (d *Decoder) Clone() wire.Decoder {
	c := *d
	return &c
}

// reader reads one frame.
type reader struct {
	*wire.Writer
	d *Decoder
}
