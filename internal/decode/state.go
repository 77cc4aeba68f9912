package decode

import (
	"encoding/json"
	"fmt"
	"slices"

	"streamer/internal/decode/wire"
)

// State is what decoding a session keeps between inputs. The zero value is
// ready to use. It is stored as JSON with the session. Before a copy of a State
// and the State itself are used independently, one of them must be cloned.
type State struct {
	Format string `json:"f,omitzero"` // the name of the recognised or named format
	// SSE is nil unless an event was cut: there may be many sessions.
	SSE *SSE `json:"s,omitempty"`
	// Cut is nil unless other text was cut.
	Cut *Cut `json:"c,omitempty"`
	// Decoders are those of the formats that the session has used, in the order
	// of their first use.
	Decoders []FormatDecoder `json:"d,omitempty"`
}

// Shape returns the name of the history shape that synthetic results have in a
// session of the current format.
func (s *State) Shape() string {
	if f := find(s.Format); f != nil {
		return f.Shape()
	}
	return formats[0].Shape()
}

// FormatDecoder is the Decoder of a format.
type FormatDecoder struct {
	Format  string       `json:"f"`
	Decoder wire.Decoder `json:"s"`
}

// UnmarshalJSON reads the state of a Decoder of the format that is named.
func (d *FormatDecoder) UnmarshalJSON(data []byte) error {
	var stored struct {
		Format  string          `json:"f"`
		Decoder json.RawMessage `json:"s"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return fmt.Errorf("decode: state of a format: %w", err)
	}
	f := find(stored.Format)
	if f == nil {
		return fmt.Errorf("decode: the state is of an unknown format %q", stored.Format)
	}
	decoder := f.New()
	if err := json.Unmarshal(stored.Decoder, decoder); err != nil {
		return fmt.Errorf("decode: state of the format %s: %w", stored.Format, err)
	}
	d.Format, d.Decoder = stored.Format, decoder
	return nil
}

// Clone returns a copy that shares nothing that either may change.
func (s State) Clone() State {
	if s.SSE != nil {
		c := *s.SSE
		c.Line, c.Data = slices.Clone(c.Line), slices.Clone(c.Data)
		s.SSE = &c
	}
	if s.Cut != nil {
		s.Cut = s.Cut.clone()
	}
	s.Decoders = slices.Clone(s.Decoders)
	for i := range s.Decoders {
		s.Decoders[i].Decoder = s.Decoders[i].Decoder.Clone()
	}
	return s
}

// current returns the Decoder of the current format, or nil if it has not been
// used or is shared with another format.
func (s *State) current() wire.Decoder {
	for i := range s.Decoders {
		if d := &s.Decoders[i]; d.Format == s.Format {
			return d.Decoder
		}
	}
	return nil
}

// decoder returns the Decoder of a format, and makes it at the first use.
func (s *State) decoder(f wire.Format) wire.Decoder {
	name := f.Name()
	for i := range s.Decoders {
		if d := &s.Decoders[i]; d.Format == name {
			return d.Decoder
		}
	}
	if shared, ok := f.(wire.Sharer); ok {
		return shared.View(s.decoder(shared.Shared()))
	}
	d := f.New()
	s.Decoders = append(s.Decoders, FormatDecoder{name, d})
	return d
}
