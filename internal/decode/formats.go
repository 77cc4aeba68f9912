package decode

// formats is every format there is, in the order its names are listed in. A
// new format is one file, one line here, and one folder in testdata.
var formats = [...]format{
	{"openai-chat", claimsOpenAIChat, decodeOpenAIChat},
	{"openai-responses", claimsResponses, decodeResponses},
	{"anthropic", claimsAnthropic, decodeAnthropic},
	{"langchain", claimsLangChain, decodeLangChain},
	{"langgraph-protocol", claimsProtocol, decodeProtocol},
	{"gemini", claimsGemini, decodeGemini},
	{"gemini-interactions", claimsInteractions, decodeInteractions},
	{"mistral", claimsMistral, decodeOpenAIChat},
	{"ollama", claimsOllama, decodeOllama},
	{"cohere", claimsCohere, decodeCohere},
	{"bedrock", claimsBedrock, decodeBedrock},
	{"vercel-ui", claimsVercel, decodeVercel},
	{"ag-ui", claimsAGUI, decodeAGUI},
}

// Names gives the names of the formats, as the header Streamer-Format takes
// them.
func Names() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}
