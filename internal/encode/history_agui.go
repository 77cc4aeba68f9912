package encode

import (
	"encoding/json"
	"slices"
)

// agTranscript builds the messages of AG-UI, as its client does
// (https://docs.ag-ui.com/concepts/messages).
type agTranscript struct{ list []*agText }

type agText struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    *string         `json:"content,omitempty"`
	ToolCalls  []*agTool       `json:"toolCalls,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Subagent   string          `json:"subagentRunId,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
}

type agTool struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"` // function
	Function agFunction      `json:"function"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

type agFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (t *agTranscript) ask(id, text string) {
	if id != "" {
		t.list = append(t.list, &agText{ID: id, Role: "user"})
	}
	if i := t.lastOf("user"); i >= 0 {
		t.list[i].add(text)
	}
}

func (t *agTranscript) frame(data []byte) {
	var e struct {
		agEvent
		Delta    string          `json:"delta"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "TEXT_MESSAGE_START", "REASONING_MESSAGE_START":
		t.message(e.MessageID, e.Role, e.SubagentRunID).Metadata = e.Metadata
	case "TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT":
		t.message(e.MessageID, "", "").add(e.Delta)
	case "TEXT_MESSAGE_END":
		t.message(e.MessageID, "", "").Metadata = e.Metadata
	case "TOOL_CALL_START":
		m := t.message(e.ParentMessageID, "assistant", e.SubagentRunID)
		m.ToolCalls = append(m.ToolCalls, &agTool{ID: e.ToolCallID, Type: "function", Function: agFunction{Name: e.ToolCallName}, Metadata: e.Metadata})
	case "TOOL_CALL_ARGS":
		if _, c := t.call(e.ToolCallID); c != nil {
			c.Function.Arguments += e.Delta
		}
	case "TOOL_CALL_END":
		if _, c := t.call(e.ToolCallID); c != nil {
			c.Metadata = e.Metadata
		}
	case "TOOL_CALL_RESULT":
		at, _ := t.call(e.ToolCallID)
		for at++; at < len(t.list) && t.list[at].Role == "tool"; {
			at++
		}
		t.list = slices.Insert(t.list, at, &agText{ID: e.MessageID, Role: "tool", Content: e.Content, ToolCallID: e.ToolCallID, Subagent: e.SubagentRunID, Metadata: e.Metadata})
	}
}

// message returns the message of an id. One that is not there is added.
func (t *agTranscript) message(id, role, subagent string) *agText {
	for _, m := range slices.Backward(t.list) {
		if m.ID == id {
			return m
		}
	}
	m := &agText{ID: id, Role: role, Subagent: subagent}
	t.list = append(t.list, m)
	return m
}

// call returns the last call of an id, and the index of its message.
func (t *agTranscript) call(id string) (at int, c *agTool) {
	for at, m := range slices.Backward(t.list) {
		if c := find(m.ToolCalls, func(c *agTool) bool { return c.ID == id }); c != nil {
			return at, c
		}
	}
	return len(t.list) - 1, nil
}

func (t *agTranscript) lastOf(role string) int {
	for i, m := range slices.Backward(t.list) {
		if m.Role == role {
			return i
		}
	}
	return -1
}

func (m *agText) add(text string) {
	if m.Content == nil {
		m.Content = new(string)
	}
	*m.Content += text
}

func (t *agTranscript) messages() []any {
	list := make([]any, len(t.list))
	for i, m := range t.list {
		list[i] = m
	}
	return list
}
