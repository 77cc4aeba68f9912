package decode

// Mistral's chat completion chunk is OpenAI's, with whole calls that often
// lack index and type, an id "null" behind the first, and content in parts:
// https://docs.mistral.ai/api/#tag/chat
//
// Its streams cannot be told from those of other servers of that shape, and
// need not be: the same reader reads them. So mistral is a name only. Without
// a header they are taken for openai-chat.
func claimsMistral(f Frame) claim {
	if claimsOpenAIChat(f) == no {
		return no
	}
	return ifKnown
}
