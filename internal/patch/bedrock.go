package patch

// bedrockSynthetic writes the new result of a call: the user message that
// Bedrock's Converse takes.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
func bedrockSynthetic(c *call) string {
	return `{"role":"user","content":[{"toolResult":{"toolUseId":` + c.finalIDText() +
		`,"content":[{"text":` + c.content + `}],"status":"error"}}]}`
}
