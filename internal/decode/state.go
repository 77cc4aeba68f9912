package decode

import (
	"fmt"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// State is what decoding a session keeps between inputs. The zero value is
// ready to use. It is stored with the session. A copy shares memory with it.
type State struct {
	Format string // the name of the recognised or named format
	framing.State
	// Decoders are those of the formats that the session has used, in the order
	// of their first use.
	Decoders []FormatDecoder
}

// Shape returns the name of the history shape that synthetic results have in a
// session of the current format.
func (s *State) Shape() string {
	if f := find(s.Format); f != nil {
		return f.Shape
	}
	return formats[0].Shape
}

// FormatDecoder is the Decoder of a format.
type FormatDecoder struct {
	Format  string
	Decoder wire.Decoder
}

// Fields visits the members of the stored form.
func (s *State) Fields(f *stored.Fields) {
	f.Text("f", &s.Format)
	s.State.Fields(f)
	stored.List(f, "d", &s.Decoders, (*FormatDecoder).fields)
}

// fields visits the format first: it tells what the Decoder is.
func (d *FormatDecoder) fields(f *stored.Fields) {
	if d.Decoder == nil || !f.Reading() {
		f.Text("f", &d.Format)
	}
	if d.Decoder == nil {
		format := find(d.Format)
		if format == nil {
			f.Fail(fmt.Errorf("decode: the state is of an unknown format %q", d.Format))
			return
		}
		d.Decoder = format.New()
	}
	stored.Object(f, "s", &d.Decoder, func(d *wire.Decoder, f *stored.Fields) { (*d).Fields(f) })
}

// decoder returns the Decoder of a format, and makes it at the first use.
func (s *State) decoder(f *wire.Format) wire.Decoder {
	for i := range s.Decoders {
		if d := &s.Decoders[i]; d.Format == f.Name {
			return d.Decoder
		}
	}
	if f.View != nil {
		return f.View(s.decoder(find(f.Shared)))
	}
	d := f.New()
	s.Decoders = append(s.Decoders, FormatDecoder{Format: f.Name, Decoder: d})
	return d
}
