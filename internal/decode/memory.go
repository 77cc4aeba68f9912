package decode

import "slices"

// Memory is what decoding a session remembers between inputs. The zero value
// is ready; it is saved as JSON with the session. A Memory that is copied and
// read further beside its copy must be cloned.
type Memory struct {
	Format    string          `json:"f,omitzero"` // the name of the recognised or named format
	SSE       SSEMemory       `json:"s,omitzero"`
	Anthropic AnthropicMemory `json:"a,omitzero"`
	Responses ResponsesMemory `json:"or,omitzero"`
	LangChain LangChainMemory `json:"l,omitzero"`
	Protocol  ProtocolMemory  `json:"p,omitzero"`

	Gemini       GeminiMemory       `json:"g,omitzero"`
	Interactions InteractionsMemory `json:"gi,omitzero"`
	Ollama       OllamaMemory       `json:"o,omitzero"`
	Cohere       CohereMemory       `json:"c,omitzero"`

	Bedrock BedrockMemory `json:"b,omitzero"`
	Vercel  VercelMemory  `json:"v,omitzero"`
	AGUI    AGUIMemory    `json:"ag,omitzero"`
}

// Clone gives a copy that shares nothing that either may change.
func (m Memory) Clone() Memory {
	m.SSE.Line = slices.Clone(m.SSE.Line)
	m.SSE.Data = slices.Clone(m.SSE.Data)
	m.Responses.Calls = slices.Clone(m.Responses.Calls)
	m.Gemini.Args = m.Gemini.Args.clone()
	m.Bedrock.Answer.Blocks = slices.Clone(m.Bedrock.Answer.Blocks)
	m.Vercel.Parts = slices.Clone(m.Vercel.Parts)
	m.AGUI = m.AGUI.clone()
	return m
}
