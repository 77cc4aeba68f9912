package patch

// bedrockFormat writes results for Bedrock's Converse API. It does not read
// histories.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultBlock.html
type bedrockFormat struct{}

func (bedrockFormat) shape() Shape { return Bedrock }

func (bedrockFormat) message(c *call) string {
	return `{"role":"user","content":[{"toolResult":{"toolUseId":` + c.finalIDText() +
		`,"content":[{"text":` + c.content + `}],"status":"error"}}]}`
}
