package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestAgentProtocolRules checks the rules of the client for recorded streams that are
// cut and ended in different ways. What a client has in the end
// depends neither on when it connects nor on how often it connects again.
func TestAgentProtocolRules(t *testing.T) {
	logs, calls := 0, 0
	eachEnding(t, func(name string, l *inputLog) {
		logs++
		calls += checkAgentProtocol(t, name, turnOf{log: l.log, read: l.read})
	})
	t.Logf("%d sessions, %d calls", logs, calls)
	if logs < 150 || calls < 150 {
		t.Errorf("checked %d sessions with %d calls: too few", logs, calls)
	}
}

// checkAgentProtocol checks the streams of clients of a session and returns the
// number of its calls.
func checkAgentProtocol(t *testing.T, name string, u turnOf) int {
	t.Helper()
	var want string
	calls := 0
	for _, history := range []int{len(u.log), len(u.log) / 2, 0} {
		frames, _ := u.framesOf(t, "agent-protocol", history, 0)
		c, err := readAgentProtocol(frames)
		if err != nil {
			t.Fatalf("%s, %d of %d events stored: %v\n%s", name, history, len(u.log), err, strings.Join(frames, ""))
		}
		if history == len(u.log) {
			want, calls = c.String(), len(c.tools)
		}
		if got := c.String(); got != want {
			t.Fatalf("%s, %d of %d events stored: got\n%s\nwant\n%s\n%s", name, history, len(u.log), got, want, strings.Join(frames, ""))
		}
		for _, at := range []int{len(frames) / 3, len(frames) - 1} {
			if history != 0 || at < 1 {
				continue
			}
			// What a client has is stored when it connects again.
			stored := max(len(u.log)/2, int(lastFrameSeq(t, frames[:at])))
			again, _ := u.framesOf(t, "agent-protocol", stored, 0)
			c, err := readAgentProtocol(slices.Clone(frames[:at]), again)
			if err != nil || c.String() != want {
				t.Fatalf("%s, cut after %d of %d frames: %v\ngot\n%s\nwant\n%s\n%s|\n%s", name, at, len(frames), err, c, want, strings.Join(frames[:at], ""), strings.Join(again, ""))
			}
		}
	}
	return calls
}

// lastFrameSeq returns the sequence of the last event in some frames.
func lastFrameSeq(t *testing.T, frames []string) uint64 {
	t.Helper()
	_, _, data, err := parseFrame(frames[len(frames)-1])
	var f struct{ Seq uint64 }
	if err != nil || json.Unmarshal(data, &f) != nil || f.Seq == 0 {
		t.Fatalf("%v in %s", err, frames[len(frames)-1])
	}
	return f.Seq
}

// apWire is a frame as the client reads it.
type apWire struct {
	EventID string `json:"event_id"`
	Method  string
	Params  struct {
		Namespace []string
		Data      struct {
			Event, Role, ID, Message string
			RunID                    string `json:"run_id"`
			ToolCallID               string `json:"tool_call_id"`
			Index                    *int
			Content                  *apContent
			Delta                    json.RawMessage
		}
	}
}

// apClient is what a client has of a session.
type apClient struct {
	messages map[string]*apShown
	order    []string
	tools    map[string]string
	terminal string
}

type apShown struct {
	blocks   []*apShownBlock
	finished bool
}

type apShownBlock struct {
	content  apContent
	text     string
	finished bool
}

// readAgentProtocol applies the frames of some connections, one after the other, as
// the SDK does: it drops the events that it has.
func readAgentProtocol(connections ...[]string) (*apClient, error) {
	c := &apClient{messages: map[string]*apShown{}, tools: map[string]string{}}
	seen := map[string]bool{}
	for _, frames := range connections {
		here := map[string]bool{}
		for _, f := range frames {
			id, event, data, err := parseFrame(f)
			var w apWire
			if err == nil {
				err = json.Unmarshal(data, &w)
			}
			if err == nil && (w.EventID != id || id == "" || w.Method != event || here[id]) {
				err = errors.New("the id is absent, different or not unique")
			}
			if err == nil && !seen[id] {
				err = c.apply(&w)
			}
			if err != nil {
				return c, fmt.Errorf("%w in %s", err, f)
			}
			here[id], seen[id] = true, true
		}
	}
	return c, nil
}

func (c *apClient) apply(w *apWire) error {
	d := &w.Params.Data
	switch w.Method {
	case "lifecycle":
		if len(w.Params.Namespace) == 0 {
			c.terminal = d.Event
		}
		return nil
	case "tools":
		state, known := c.tools[d.ToolCallID]
		switch {
		case d.ToolCallID == "":
			return errors.New("no call")
		case d.Event == "tool-started" && !known:
			c.tools[d.ToolCallID] = "running"
		case d.Event == "tool-output-delta":
		case (d.Event == "tool-finished" || d.Event == "tool-error" && d.Message != "") && state == "running":
			c.tools[d.ToolCallID] = d.Event + d.Message
		default:
			return fmt.Errorf("the call is %q", state)
		}
		return nil
	case "messages":
		return c.message(w)
	case "input.requested", "input.answered":
		return nil
	}
	return errors.New("unknown method")
}

func (c *apClient) message(w *apWire) error {
	d := &w.Params.Data
	key := strings.Join(w.Params.Namespace, "|") + " " + d.RunID
	m := c.messages[key]
	if d.Event == "message-start" {
		if m != nil || d.ID != d.RunID || d.ID == "" || d.Role == "" {
			return errors.New("a second start, or no id")
		}
		c.messages[key], c.order = &apShown{}, append(c.order, key)
		return nil
	}
	if m == nil || m.finished {
		return errors.New("the message is not open")
	}
	if d.Event == "message-finish" {
		m.finished = true
		if n := len(m.blocks); n > 0 && !m.blocks[n-1].finished {
			return errors.New("a block is open")
		}
		return nil
	}
	if d.Index == nil {
		return errors.New("no index")
	}
	return m.block(d.Event, *d.Index, d.Content, d.Delta)
}

// block applies a change of a content block. Only the last block can be open.
func (m *apShown) block(event string, index int, content *apContent, delta []byte) error {
	if event == "content-block-start" {
		if index != len(m.blocks) || index > 0 && !m.blocks[index-1].finished || content == nil {
			return errors.New("blocks interleave")
		}
		m.blocks = append(m.blocks, &apShownBlock{content: *content})
		return nil
	}
	if index != len(m.blocks)-1 || m.blocks[index].finished {
		return errors.New("the block is not open")
	}
	b := m.blocks[index]
	if event == "content-block-finish" {
		b.finished = true
		return b.finish(content)
	}
	var d apDelta
	if err := json.Unmarshal(delta, &d); err != nil {
		return err
	}
	kinds := map[string]string{"text-delta": "text", "reasoning-delta": "reasoning", "tool-call-delta": "tool_call_chunk", "block-delta": "tool_call_chunk"}
	if kinds[d.Type] != b.startType() {
		return fmt.Errorf("%s in a block %s", d.Type, b.content.Type)
	}
	if d.Fields != nil {
		return json.Unmarshal(d.Fields.Args, &b.text)
	}
	b.text += d.Text + d.Reasoning + d.Args
	return nil
}

func (b *apShownBlock) startType() string {
	if b.content.Type == "tool_call" {
		return "tool_call_chunk"
	}
	return b.content.Type
}

// finish checks the whole content against the deltas.
func (b *apShownBlock) finish(c *apContent) error {
	switch {
	case c == nil:
		return errors.New("no content")
	case c.Type == "text" && *c.Text != b.text, c.Type == "reasoning" && *c.Reasoning != b.text:
		return fmt.Errorf("the deltas are %q", b.text)
	case c.Type == "tool_call" && c.Args[0] != '{':
		return errors.New("the args are not an object")
	}
	b.content = *c
	return nil
}

// String returns what the client shows in the end. The args of a call that is open
// are not compared: some are written at its end only.
func (c *apClient) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", c.terminal)
	for _, key := range c.order {
		m := c.messages[key]
		fmt.Fprintf(&b, "%s %v\n", key, m.finished)
		for _, k := range m.blocks {
			text := k.text
			if k.startType() == "tool_call_chunk" || k.finished {
				text = ""
			}
			data, _ := json.Marshal(k.content)
			fmt.Fprintf(&b, "  %s %q %v\n", data, text, k.finished)
		}
	}
	var tools []string
	for id, state := range c.tools {
		tools = append(tools, id+" "+state)
	}
	slices.Sort(tools)
	return b.String() + strings.Join(tools, "\n")
}
