package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// aiReducer is the reducer of the client with the checks that it lacks. It reads the
// stream of one message and returns an error at the first chunk that a client rejects
// or shows wrong.
type aiReducer struct {
	id     string
	step   bool
	ended  string // type of the last chunk
	parts  []*aiShown
	texts  map[string]*aiShown // the open ones, by id
	tools  map[string]*aiShown // by call; nil for those that were reset
	odd    func(call string) bool
	stepAt int // index in parts of the first part of the step
	deltas int
}

// aiShown is a part as the client shows it.
type aiShown struct {
	kind   string // text, reasoning, tool name, data type
	id     string
	text   string // or deltas of the input
	state  string
	step   int
	input  any
	output any
	asked  string
}

// reduceAI reads a whole stream. odd reports whether the args of a call were replaced
// after they were emitted, so that its deltas are not its input.
func reduceAI(stream []byte, odd func(call string) bool) (*aiReducer, error) {
	m := &aiReducer{texts: map[string]*aiShown{}, tools: map[string]*aiShown{}, odd: odd}
	frames := strings.Split(string(stream), "\n\n")
	if frames[len(frames)-1] != "" {
		return m, fmt.Errorf("the last frame is not complete: %q", frames[len(frames)-1])
	}
	done := false
	for _, f := range frames[:len(frames)-1] {
		data, ok := strings.CutPrefix(f, "data: ")
		switch {
		case strings.HasPrefix(f, ": ") && !strings.Contains(f, "\n"):
			continue
		case !ok || strings.ContainsAny(data, "\r\n"):
			return m, fmt.Errorf("not a frame of one line: %q", f)
		case done:
			return m, fmt.Errorf("after [DONE]: %s", data)
		case data == "[DONE]":
			done = true
			continue
		}
		if err := m.chunk([]byte(data)); err != nil {
			return m, fmt.Errorf("%w\nin %s", err, data)
		}
	}
	if done != (m.ended == "finish" || m.ended == "abort") {
		return m, fmt.Errorf("[DONE] is %v after %q", done, m.ended)
	}
	return m, nil
}

// aiWire is a chunk with all fields that the protocol uses.
type aiWire struct {
	Type, MessageID, ID, Delta, ToolCallID, ToolName string
	InputTextDelta, ApprovalID, ErrorText, Reason    string
	FinishReason                                     string
	Input, Output, Data, ToolMetadata                any
	Approved, Dynamic, Preliminary                   *bool
}

func (m *aiReducer) chunk(data []byte) error {
	var c aiWire
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	switch {
	case m.ended == "finish" || m.ended == "abort":
		return errors.New("a chunk after the end")
	case (m.ended == "") != (c.Type == "start"):
		return errors.New("start must be the first chunk, once")
	case c.Dynamic != nil || c.Preliminary != nil:
		return errors.New("dynamic and preliminary are not used")
	}
	m.ended = c.Type
	kind, what, _ := strings.Cut(c.Type, "-")
	switch kind {
	case "text", "reasoning":
		return m.text(kind, what, &c)
	case "tool":
		return m.tool(what, &c)
	case "data":
		return m.data(&c)
	}
	return m.frame(&c)
}

// frame applies the chunks about the message and its steps.
func (m *aiReducer) frame(c *aiWire) error {
	switch c.Type {
	case "start":
		m.id = c.MessageID
		if c.MessageID == "" {
			return errors.New("start without a message id")
		}
		return nil
	case "start-step":
		if m.step {
			return errors.New("a step is open")
		}
		m.step, m.stepAt = true, len(m.parts)
		return nil
	case "finish-step", "reset-step":
		if !m.step || len(m.texts) > 0 {
			return fmt.Errorf("step is %v, %d texts are open", m.step, len(m.texts))
		}
		if c.Type == "reset-step" {
			return m.reset()
		}
		m.step = false
		return m.noInputOpen()
	case "finish", "abort":
		if m.step || len(m.texts) > 0 {
			return errors.New("a step or a text is open")
		}
		return m.end(c)
	}
	return errors.New("unknown type: the client rejects the stream")
}

// reset drops the parts of the step. Their calls are never named again.
func (m *aiReducer) reset() error {
	for _, p := range m.parts[m.stepAt:] {
		if m.tools[p.id] == p {
			if !p.terminal() {
				return fmt.Errorf("call %s is open", p.id)
			}
			m.tools[p.id] = nil
		}
	}
	m.parts = m.parts[:m.stepAt]
	return nil
}

// noInputOpen checks that the input of each call is whole or has ended.
func (m *aiReducer) noInputOpen() error {
	for id, p := range m.tools {
		if p != nil && p.state == "input-streaming" {
			return fmt.Errorf("the input of %s is open", id)
		}
	}
	return nil
}

func (m *aiReducer) end(c *aiWire) error {
	open := 0
	for _, p := range m.tools {
		if p != nil && !p.terminal() {
			open++
		}
	}
	switch {
	case c.Type == "abort" && open > 0:
		return fmt.Errorf("%d calls are open", open)
	case c.Type == "abort" && c.Reason == "":
		return errors.New("no reason")
	case open > 0 && c.FinishReason != "tool-calls":
		return fmt.Errorf("%d calls are open at finish %s", open, c.FinishReason)
	case c.Type == "finish" && !slices.Contains([]string{"stop", "length", "content-filter", "tool-calls", "error", "other"}, c.FinishReason):
		return fmt.Errorf("finish reason %q", c.FinishReason)
	}
	return m.noInputOpen()
}

// text applies a chunk of a content part.
func (m *aiReducer) text(kind, what string, c *aiWire) error {
	p := m.texts[c.ID]
	switch {
	case !m.step || c.ID == "":
		return errors.New("text outside of a step, or without an id")
	case (p == nil) != (what == "start") || p != nil && p.kind != kind:
		return fmt.Errorf("the part is open: %v", p != nil)
	case what == "start":
		p = &aiShown{kind: kind}
		m.parts = append(m.parts, p)
		m.texts[c.ID] = p
	case what == "delta":
		if c.Delta == "" {
			return errors.New("an empty delta")
		}
		m.deltas++
		p.text += c.Delta
	default:
		delete(m.texts, c.ID)
	}
	return nil
}

func (m *aiReducer) data(c *aiWire) error {
	if c.ID == "" || c.Data == nil {
		return errors.New("data without an id or data")
	}
	for _, p := range m.parts {
		if p.kind == c.Type && p.id == c.ID {
			p.output = c.Data
			return nil
		}
	}
	m.parts = append(m.parts, &aiShown{kind: c.Type, id: c.ID, output: c.Data})
	return nil
}

// tool applies a chunk of a call.
func (m *aiReducer) tool(what string, c *aiWire) error {
	if what == "approval-response" {
		return m.approval(c)
	}
	p, known := m.tools[c.ToolCallID]
	if known == (what == "input-start") || known && p == nil {
		return fmt.Errorf("the call is known: %v", known)
	}
	if what == "input-start" {
		if !m.step || c.ToolName == "" || c.ToolMetadata == nil {
			return errors.New("a call outside of a step, without a name, or without metadata")
		}
		p = &aiShown{kind: "tool-" + c.ToolName, id: c.ToolCallID, state: "input-streaming", step: m.stepAt}
		m.tools[c.ToolCallID], m.parts = p, append(m.parts, p)
		return nil
	}
	if p.terminal() {
		return fmt.Errorf("the call has ended as %s", p.state)
	}
	if strings.HasPrefix(what, "input-") && (!m.step || p.step != m.stepAt) {
		return errors.New("the input of a call continues in another step: it becomes a second part")
	}
	return m.advance(p, what, c)
}

// advance is the transition of a call that is open.
func (m *aiReducer) advance(p *aiShown, what string, c *aiWire) error {
	failed := what == "input-error" || what == "output-error"
	switch {
	case what == "input-delta" && p.state == "input-streaming" && c.InputTextDelta != "":
		m.deltas++
		p.text += c.InputTextDelta
		return nil
	case what == "input-available" && p.state == "input-streaming":
		p.state, p.input = "input-available", c.Input
		var input any
		if err := json.Unmarshal([]byte(p.text), &input); !m.odd(p.id) && (err != nil || !reflect.DeepEqual(input, c.Input)) {
			return fmt.Errorf("the deltas are not the input: %q", p.text)
		}
		return nil
	case what == "approval-request" && p.state != "input-streaming" && c.ApprovalID != "":
		p.state, p.asked = "approval-requested", c.ApprovalID
		return nil
	case what == "output-available", what == "output-denied":
		p.state, p.output = what, c.Output
		return nil
	case failed && c.ErrorText != "" && c.ToolMetadata != nil && (what == "output-error" || p.state == "input-streaming"):
		p.state, p.output = "output-error", c.ErrorText
		if what == "input-error" {
			p.input = c.Input
		}
		return nil
	}
	return fmt.Errorf("not possible in state %s", p.state)
}

// approval applies the answer to a request, which names the request only.
func (m *aiReducer) approval(c *aiWire) error {
	for _, p := range m.parts {
		if p.asked == c.ApprovalID && c.ApprovalID != "" {
			if p.state != "approval-requested" || c.Approved == nil {
				return fmt.Errorf("not possible in state %s", p.state)
			}
			p.state = "approval-responded"
			return nil
		}
	}
	return errors.New("no call has this request")
}

func (p *aiShown) terminal() bool {
	switch p.state {
	case "output-available", "output-error", "output-denied":
		return true
	}
	return false
}

// String returns what the client shows in the end, without the raw deltas of args.
func (m *aiReducer) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s complete: %v\n", m.id, m.ended == "finish" || m.ended == "abort")
	for _, p := range m.parts {
		text := p.text
		if strings.HasPrefix(p.kind, "tool-") {
			text = ""
		}
		fmt.Fprintf(&b, "%s %s %q %s %v %v\n", p.kind, p.id, text, p.state, p.input, p.output)
	}
	return b.String()
}
