package encode

import (
	"encoding/json"
	"strings"

	"streamer/internal/events"
)

// anthropicTranscript builds the messages of Anthropic's Messages API: those of AG-UI in
// blocks, without the reasoning, which has no signature, and what subagents wrote.
type anthropicTranscript struct{ agTranscript }

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

// messages joins messages of a role that follow each other: results are blocks of a user's
// message.
func (t *anthropicTranscript) messages() (list []any) {
	var last *anthropicMessage
	for _, m := range t.list {
		role, blocks := m.Role, m.blocks()
		if role == "tool" {
			role = "user"
		}
		switch {
		case len(blocks) == 0 || role == "reasoning" || m.Subagent != "":
		case last != nil && last.Role == role:
			last.Content = append(last.Content, blocks...)
		default:
			last = &anthropicMessage{role, blocks}
			list = append(list, last)
		}
	}
	return list
}

// blocks returns the content of a message. An input that is no object is its member input.
func (m *agText) blocks() (list []anthropicBlock) {
	if m.Role == "tool" {
		var about struct {
			Streamer struct{ Status events.Status }
		}
		_ = json.Unmarshal(m.Metadata, &about) // without it, the result is an error
		return []anthropicBlock{{Type: "tool_result", ToolUseID: m.ToolCallID, Content: m.Content, IsError: about.Streamer.Status != events.Completed}}
	}
	if m.Content != nil && strings.TrimSpace(*m.Content) != "" {
		list = append(list, anthropicBlock{Type: "text", Text: *m.Content})
	}
	for _, c := range m.ToolCalls {
		input := json.RawMessage(strings.TrimSpace(c.Function.Arguments))
		switch {
		case !json.Valid(input): // they are on their way
			input = json.RawMessage("{}")
		case input[0] != '{':
			input = json.RawMessage(`{"input":` + string(input) + `}`)
		}
		list = append(list, anthropicBlock{Type: "tool_use", ID: c.ID, Name: c.Function.Name, Input: input})
	}
	return list
}
