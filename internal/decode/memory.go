package decode

import "slices"

// Memory is what decoding a session remembers between inputs. The zero value
// is ready; it is saved as JSON with the session. A Memory that is copied and
// read further beside its copy must be cloned.
type Memory struct {
	Format string `json:"f,omitzero"` // the name of the recognised or named format

	// What a format remembers is nil until it does: there may be many sessions.
	SSE       *SSEMemory       `json:"s,omitempty"`
	Anthropic *AnthropicMemory `json:"a,omitempty"`
	Responses *ResponsesMemory `json:"or,omitempty"`
	LangChain *LangChainMemory `json:"l,omitempty"`
	Protocol  *ProtocolMemory  `json:"p,omitempty"`

	Gemini       *GeminiMemory       `json:"g,omitempty"`
	Interactions *InteractionsMemory `json:"gi,omitempty"`
	Ollama       *OllamaMemory       `json:"o,omitempty"`
	Cohere       *CohereMemory       `json:"c,omitempty"`

	Bedrock *BedrockMemory `json:"b,omitempty"`
	Vercel  *VercelMemory  `json:"v,omitempty"`
	AGUI    *AGUIMemory    `json:"ag,omitempty"`
}

// partOf gives a part of a Memory to write to.
func partOf[T any](part **T) *T {
	if *part == nil {
		*part = new(T)
	}
	return *part
}

// own makes a part of a copied Memory its own.
func own[T any](part **T) *T {
	if *part != nil {
		p := **part
		*part = &p
	}
	return *part
}

// Clone gives a copy that shares nothing that either may change.
func (m Memory) Clone() Memory {
	own(&m.Anthropic)
	own(&m.LangChain)
	own(&m.Protocol)
	own(&m.Interactions)
	own(&m.Ollama)
	own(&m.Cohere)
	if r := own(&m.Responses); r != nil {
		r.Calls = slices.Clone(r.Calls)
	}
	if s := own(&m.SSE); s != nil {
		s.Line, s.Data = slices.Clone(s.Line), slices.Clone(s.Data)
	}
	if g := own(&m.Gemini); g != nil {
		g.Args = g.Args.clone()
	}
	if b := own(&m.Bedrock); b != nil {
		b.Answer.Blocks = slices.Clone(b.Answer.Blocks)
	}
	if v := own(&m.Vercel); v != nil {
		v.Parts = slices.Clone(v.Parts)
	}
	if a := own(&m.AGUI); a != nil {
		*a = a.clone()
	}
	return m
}
