package tap

import "regexp"

// endpoint is a request of an API whose answer is a message of a model.
type endpoint struct {
	path   *regexp.Regexp
	format string // of the answer, as in the header Streamer-Format; "" if it is recognised
	shape  string // of the history in the request, as in package patch
}

// endpoints lists the endpoints by the ends of their paths. Others are passed through and
// not published: lists of models, counts of tokens, embeddings, compactions.
//
//	OpenAI, Azure, OpenRouter, Mistral  https://platform.openai.com/docs/api-reference
//	Anthropic, Vertex                   https://docs.anthropic.com/en/api/messages
//	Gemini, Vertex                      https://ai.google.dev/api/generate-content
//	Bedrock                             https://docs.aws.amazon.com/bedrock/latest/APIReference
//	Ollama                              https://github.com/ollama/ollama/blob/main/docs/api.md
//	Cohere                              https://docs.cohere.com/reference/chat
var endpoints = [...]endpoint{
	{regexp.MustCompile(`/chat/completions$`), "openai-chat", "openai"},
	{regexp.MustCompile(`/responses$`), "openai-responses", "responses"},
	{regexp.MustCompile(`/messages$`), "anthropic", "anthropic"},
	{regexp.MustCompile(`/publishers/anthropic/.*:(streamRawPredict|rawPredict)$`), "anthropic", "anthropic"},
	{regexp.MustCompile(`:(streamGenerateContent|generateContent)$`), "gemini", "gemini"},
	{regexp.MustCompile(`/model/[^/]*anthropic[^/]*/invoke(-with-response-stream)?$`), "anthropic", "anthropic"},
	{regexp.MustCompile(`/model/[^/]*/converse(-stream)?$`), "bedrock", "bedrock"},
	{regexp.MustCompile(`/v2/chat$`), "cohere", "openai"},
	{regexp.MustCompile(`/api/chat$`), "ollama", "ollama"},
}

// endpointOf returns the endpoint of an escaped path, nil if its answers are no messages.
func endpointOf(path string) *endpoint {
	for i := range endpoints {
		if endpoints[i].path.MatchString(path) {
			return &endpoints[i]
		}
	}
	return nil
}
