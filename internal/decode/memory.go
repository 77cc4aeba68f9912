package decode

import "slices"

// Memory is what decoding a session remembers between inputs. The zero value
// is ready; it is saved as JSON with the session. A Memory that is copied and
// read further beside its copy must be cloned.
type Memory struct {
	Format    string          `json:"f,omitzero"` // the name of the recognised or named format
	SSE       SSEMemory       `json:"s,omitzero"`
	Anthropic AnthropicMemory `json:"a,omitzero"`
	LangChain LangChainMemory `json:"l,omitzero"`
}

// SSEMemory is an SSE event that was cut between two inputs.
type SSEMemory struct {
	Line []byte `json:"l,omitzero"` // of a line without its end; perhaps cut inside a character
	Data []byte `json:"d,omitzero"` // of the data lines before it, joined by newlines
	Has  bool   `json:"h,omitzero"` // there was a data line
	Name string `json:"n,omitzero"` // the event's name so far
	CR   bool   `json:"r,omitzero"` // the last byte was a carriage return: a newline that follows ends nothing
}

// Clone gives a copy that shares nothing that either may change.
func (m Memory) Clone() Memory {
	m.SSE.Line = slices.Clone(m.SSE.Line)
	m.SSE.Data = slices.Clone(m.SSE.Data)
	return m
}
