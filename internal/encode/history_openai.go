package encode

// openAITranscript builds the messages of Chat Completions: those of AG-UI in other names,
// without the reasoning and what subagents wrote.
type openAITranscript struct{ agTranscript }

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string     `json:"id"`
	Type     string     `json:"type"`
	Function agFunction `json:"function"`
}

func (t *openAITranscript) messages() (list []any) {
	for _, m := range t.list {
		if m.Role == "reasoning" || m.Subagent != "" {
			continue
		}
		one := openAIMessage{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			one.ToolCalls = append(one.ToolCalls, openAICall{c.ID, c.Type, c.Function})
		}
		if one.Content != nil || one.ToolCalls != nil {
			list = append(list, one)
		}
	}
	return list
}
