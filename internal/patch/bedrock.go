package patch

import "encoding/json"

// bedrock gives the user message that Bedrock's Converse takes:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
func bedrock(call Call, text string) (json.RawMessage, error) {
	return marshal(bedrockMessage{Role: "user", Content: []bedrockBlock{{bedrockResult{
		ToolUseID: call.ID, Content: []bedrockText{{text}}, Status: "error",
	}}}})
}

type bedrockMessage struct {
	Role    string         `json:"role"`
	Content []bedrockBlock `json:"content"`
}

type bedrockBlock struct {
	Result bedrockResult `json:"toolResult"`
}

type bedrockResult struct {
	ToolUseID string        `json:"toolUseId"`
	Content   []bedrockText `json:"content"`
	Status    string        `json:"status"`
}

type bedrockText struct {
	Text string `json:"text"`
}
