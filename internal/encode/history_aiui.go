package encode

import (
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/events"
	"streamer/internal/jsonscan"
)

// uiTranscript builds the UIMessages of the AI SDK, as its client does
// (https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message).
type uiTranscript struct {
	list []*uiMessage
	asks *uiMessage // the last message of a person
	// Of the last message of the model:
	open  map[string]*uiPart // its open texts
	calls map[string]*uiPart
}

type uiMessage struct {
	ID    string    `json:"id"`
	Role  string    `json:"role"`
	Parts []*uiPart `json:"parts"`
}

// uiPart is a part of a message. The fields that a type does not have are empty.
type uiPart struct {
	Type             string          `json:"type"`
	ID               string          `json:"id,omitempty"`
	Text             *string         `json:"text,omitempty"`
	ToolCallID       string          `json:"toolCallId,omitempty"`
	State            string          `json:"state,omitempty"`
	Input            json.RawMessage `json:"input,omitempty"`
	Output           json.RawMessage `json:"output,omitempty"`
	ErrorText        string          `json:"errorText,omitempty"`
	ProviderExecuted bool            `json:"providerExecuted,omitempty"`
	ToolMetadata     json.RawMessage `json:"toolMetadata,omitempty"`
	ProviderMetadata json.RawMessage `json:"providerMetadata,omitempty"`
	Approval         *uiApproval     `json:"approval,omitempty"`
	Data             json.RawMessage `json:"data,omitempty"`

	args string // as far as they have arrived
}

// uiApproval is the request of an approval and its answer, in the names of the part.
type uiApproval struct {
	ID               string          `json:"id"`
	Approved         *bool           `json:"approved,omitempty"`
	Reason           string          `json:"reason,omitempty"`
	Descriptor       json.RawMessage `json:"descriptor,omitempty"`
	InputSchemaInput json.RawMessage `json:"inputSchemaInput,omitempty"`
	RequestReason    string          `json:"requestReason,omitempty"`
	IsAutomatic      bool            `json:"isAutomatic,omitempty"`
	Signature        json.RawMessage `json:"signature,omitempty"`
}

// uiChunk is a chunk of the stream.
type uiChunk struct {
	uiPart
	MessageID          string          `json:"messageId"`
	Delta              string          `json:"delta"`
	ToolName           string          `json:"toolName"`
	InputTextDelta     string          `json:"inputTextDelta"`
	ApprovalID         string          `json:"approvalId"`
	Approved           *bool           `json:"approved"`
	Reason             string          `json:"reason"`
	ApprovalDescriptor json.RawMessage `json:"approvalDescriptor"`
	InputSchemaInput   json.RawMessage `json:"inputSchemaInput"`
	IsAutomatic        bool            `json:"isAutomatic"`
	Signature          json.RawMessage `json:"signature"`
}

func (t *uiTranscript) ask(id, text string) {
	if id != "" || t.asks == nil {
		t.asks = &uiMessage{ID: id, Role: "user", Parts: []*uiPart{{Type: "text", Text: new(string)}}}
		t.list = append(t.list, t.asks)
	}
	*t.asks.Parts[0].Text += text
}

func (t *uiTranscript) frame(data []byte) {
	var c uiChunk
	if json.Unmarshal(data, &c) != nil { // [DONE]
		return
	}
	if c.Type == "start" {
		t.list = append(t.list, &uiMessage{ID: c.MessageID, Role: "assistant", Parts: []*uiPart{}})
		t.open, t.calls = map[string]*uiPart{}, map[string]*uiPart{}
		return
	}
	m := t.last()
	if m == nil {
		return
	}
	kind, what, _ := strings.Cut(c.Type, "-")
	switch kind {
	case "start":
		m.Parts = append(m.Parts, &uiPart{Type: "step-start"})
	case "reset":
		at := len(m.Parts)
		for at > 0 && m.Parts[at-1].Type != "step-start" {
			at--
		}
		m.Parts = m.Parts[:at]
	case "text", "reasoning":
		t.text(m, kind, what, &c)
	case "tool":
		t.tool(m, what, &c)
	case "data":
		if i := slices.IndexFunc(m.Parts, func(p *uiPart) bool { return p.Type == c.Type && p.ID == c.ID }); i >= 0 {
			m.Parts[i].Data = c.Data
		} else {
			m.Parts = append(m.Parts, &c.uiPart)
		}
	}
}

// last returns the last message of the model. Messages of persons can follow it.
func (t *uiTranscript) last() *uiMessage {
	for _, m := range slices.Backward(t.list) {
		if m.Role == "assistant" {
			return m
		}
	}
	return nil
}

func (t *uiTranscript) text(m *uiMessage, kind, what string, c *uiChunk) {
	p := t.open[c.ID]
	switch {
	case what == "start":
		p = &uiPart{Type: kind, Text: new(string), State: "streaming", ProviderMetadata: c.ProviderMetadata}
		if kind == "reasoning" {
			p.ID = c.ID
		}
		m.Parts, t.open[c.ID] = append(m.Parts, p), p
	case p == nil:
	case what == "delta":
		*p.Text += c.Delta
	default:
		p.State = "done"
		delete(t.open, c.ID)
	}
}

func (t *uiTranscript) tool(m *uiMessage, what string, c *uiChunk) {
	p := t.calls[c.ToolCallID]
	if what == "approval-response" {
		p = find(m.Parts, func(p *uiPart) bool { return p.Approval != nil && p.Approval.ID == c.ApprovalID })
	}
	if what == "input-start" {
		p = &uiPart{Type: "tool-" + c.ToolName, ToolCallID: c.ToolCallID}
		m.Parts, t.calls[c.ToolCallID] = append(m.Parts, p), p
	}
	if p == nil {
		return
	}
	if c.ToolMetadata != nil {
		p.ToolMetadata = c.ToolMetadata
	}
	p.ProviderExecuted = p.ProviderExecuted || c.ProviderExecuted
	switch what {
	case "input-start":
		p.State = "input-streaming"
	case "input-delta":
		p.args += c.InputTextDelta
	case "input-available":
		p.State, p.Input = what, c.Input
	case "approval-request":
		p.State = "approval-requested"
		p.Approval = &uiApproval{
			ID: c.ApprovalID, Descriptor: c.ApprovalDescriptor, InputSchemaInput: c.InputSchemaInput,
			RequestReason: c.Reason, IsAutomatic: c.IsAutomatic, Signature: c.Signature,
		}
	case "approval-response":
		p.State, p.Approval.Approved, p.Approval.Reason = "approval-responded", c.Approved, c.Reason
	case "output-available":
		p.State, p.Output = what, c.Output
	case "output-denied":
		p.State = what
	case "input-error", "output-error":
		p.State, p.ErrorText = "output-error", c.ErrorText
		if c.Input != nil {
			p.Input = c.Input
		}
	}
}

func (t *uiTranscript) messages() []any {
	list := make([]any, len(t.list))
	for i, m := range t.list {
		for _, p := range m.Parts {
			p.settle()
		}
		list[i] = m
	}
	return list
}

// settle makes a part valid for validateUIMessages: input that is on its way, or invalid, is
// what its text shows, and a call that ended has the approval that fits its end, or none.
func (p *uiPart) settle() {
	if p.Input == nil && p.args != "" {
		var s jsonscan.Scanner
		if p.Input = events.Quote(p.args); s.Write(p.args) != jsonscan.Bad {
			p.Input = json.RawMessage(p.args + string(s.AppendEnd(nil)))
		}
	}
	approved := p.Approval != nil && p.Approval.Approved != nil && *p.Approval.Approved
	switch p.State {
	case "output-denied":
		if p.Approval == nil {
			p.Approval = &uiApproval{ID: p.ToolCallID}
		}
		p.Approval.Approved = new(bool)
	case "input-streaming", "output-error", "output-available":
		if !approved {
			p.Approval = nil
		}
	}
	if p.Input == nil && p.State != "" && p.ToolCallID != "" {
		p.Input = json.RawMessage("null") // nothing is known of it
	}
}
