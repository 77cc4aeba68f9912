package encode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// agReducer is the client: the order rules that it verifies, the checks that it lacks,
// and the messages that it shows. It returns an error at the first event that a client
// rejects or shows wrong.
type agReducer struct {
	messages []*agShown
	begun    bool
	ended    string // RUN_FINISHED or RUN_ERROR
	outcome  *agWireOutcome
	texts    map[string]bool // the open ones
	spans    map[string]bool
	reasons  map[string]bool
	calls    map[string]*agCallShown // of this stream
	agents   map[string]*agAgentShown
	owners   map[string]string // subagents of the messages of this stream and of the snapshot
	deltas   int
	events   int
}

// agAgentShown is a subagent of the stream.
type agAgentShown struct{ name, parent, call, ended string }

// agShown is a message as the client has it.
type agShown struct {
	ID         string           `json:"id"`
	Role       string           `json:"role"`
	Content    *json.RawMessage `json:"content,omitempty"`
	ToolCallID string           `json:"toolCallId,omitempty"`
	ToolCalls  []*agToolCall    `json:"toolCalls,omitempty"`
	Subagent   string           `json:"subagentRunId,omitempty"`
}

type agToolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type agCallShown struct {
	args    string
	open    bool
	results int
}

type agWireOutcome struct {
	Type               string
	PendingToolCallIDs []string
	Interrupts         []struct {
		ID, Reason, Message, ToolCallID, ExpiresAt, SubagentRunID string
		Metadata                                                  json.RawMessage
	}
	InterruptIDs []string // of a subagent
}

// agWire is an event with all fields that the protocol uses.
type agWire struct {
	Type, ThreadID, RunID, MessageID, ToolCallID, ToolCallName string
	ParentMessageID, Role, Delta, Name, Message, Code          string
	SubagentRunID, ParentSubagentRunID, ParentToolCallID       string
	Timestamp                                                  int64
	Content                                                    *json.RawMessage
	Messages                                                   []json.RawMessage
	Value                                                      any
	Outcome                                                    *agWireOutcome
	Metadata                                                   map[string]any
}

func newAGReducer() *agReducer {
	return &agReducer{
		texts: map[string]bool{}, spans: map[string]bool{}, reasons: map[string]bool{},
		calls: map[string]*agCallShown{}, agents: map[string]*agAgentShown{}, owners: map[string]string{},
	}
}

// reduceAG applies a stream to the messages that a client has.
func reduceAG(stream []byte, history []json.RawMessage) (*agReducer, error) {
	m := newAGReducer()
	if err := m.snapshot(history); err != nil {
		return m, err
	}
	frames := strings.Split(string(stream), "\n\n")
	if frames[len(frames)-1] != "" {
		return m, fmt.Errorf("the last frame is not complete: %q", frames[len(frames)-1])
	}
	for _, f := range frames[:len(frames)-1] {
		if err := m.frame(f); err != nil {
			return m, err
		}
	}
	return m, nil
}

// frame applies a frame.
func (m *agReducer) frame(f string) error {
	data, ok := strings.CutPrefix(f, "data: ")
	switch {
	case strings.HasPrefix(f, ": ") && !strings.Contains(f, "\n"):
		return nil
	case !ok || strings.ContainsAny(data, "\r\n"):
		return fmt.Errorf("not a frame of one line: %q", f)
	}
	if err := m.event([]byte(data)); err != nil {
		return fmt.Errorf("%w\nin %s", err, data)
	}
	return nil
}

func (m *agReducer) event(data []byte) error {
	if bytes.Contains(data, []byte("null")) { // perhaps in a text
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		for name, v := range fields {
			if string(v) == "null" {
				return fmt.Errorf("%s is null", name)
			}
		}
	}
	var e agWire
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return err
	}
	m.events++
	switch {
	case m.ended == "RUN_ERROR" || m.ended != "" && e.Type != "RUN_ERROR":
		return fmt.Errorf("after %s", m.ended)
	case m.begun == (e.Type == "RUN_STARTED") && e.Type != "RUN_ERROR":
		return errors.New("RUN_STARTED must be the first event, once")
	}
	switch kind, what, _ := strings.Cut(e.Type, "_"); kind {
	case "RUN":
		return m.run(what, &e)
	case "TEXT":
		return m.text(strings.TrimPrefix(what, "MESSAGE_"), m.texts, &e)
	case "REASONING":
		return m.reasoning(what, &e)
	case "TOOL":
		return m.tool(strings.TrimPrefix(what, "CALL_"), &e)
	case "SUBAGENT":
		return m.subagent(what, &e)
	case "MESSAGES":
		if m.events != 2 {
			return errors.New("a snapshot drops messages of the stream")
		}
		if err := m.snapshot(e.Messages); err != nil {
			return err
		}
		for _, s := range m.messages {
			m.owners[s.ID] = s.Subagent
		}
		return nil
	case "CUSTOM":
		if e.Name == "" || e.Value == nil {
			return errors.New("a custom event without a name or a value")
		}
		return nil
	}
	return errors.New("unknown type: the client drops it with a warning")
}

// run applies the start and the end of the run.
func (m *agReducer) run(what string, e *agWire) error {
	if e.Type != "RUN_ERROR" && (e.ThreadID == "" || e.RunID == "") || e.Type == "RUN_ERROR" && e.Message == "" {
		return errors.New("a required field is absent")
	}
	if what == "STARTED" {
		m.begun = true
		return nil
	}
	m.ended, m.outcome = e.Type, e.Outcome
	if e.Code == "stream_shutdown" || e.Code == "stream_unavailable" {
		return nil // the client connects again
	}
	if len(m.texts)+len(m.spans)+len(m.reasons) > 0 {
		return fmt.Errorf("texts %v or reasoning %v are open", m.texts, m.spans)
	}
	for id, a := range m.agents {
		if a.ended == "" {
			return fmt.Errorf("the subagent %s is open", id)
		}
	}
	var open []string
	for id, c := range m.calls {
		if c.open {
			return fmt.Errorf("the args of %s are open", id)
		}
		if c.results == 0 {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return m.outcomeOf(e, open)
}

// outcomeOf checks that the end accounts for the calls without a result.
func (m *agReducer) outcomeOf(e *agWire, open []string) error {
	o := e.Outcome
	switch {
	case what(o) == "success":
		if slices.Sort(o.PendingToolCallIDs); !slices.Equal(o.PendingToolCallIDs, open) {
			return fmt.Errorf("the calls %q have no result", open)
		}
	case what(o) == "interrupt":
		if len(o.Interrupts) == 0 {
			return errors.New("no interrupts")
		}
		seen := map[string]bool{}
		for _, i := range o.Interrupts {
			if i.ID == "" || i.Reason == "" || seen[i.ID] || i.ToolCallID != "" && !slices.Contains(open, i.ToolCallID) {
				return fmt.Errorf("interrupt %+v", i)
			}
			seen[i.ID] = true
		}
	case len(open) > 0:
		return fmt.Errorf("the calls %q have no result", open)
	case e.Type == "RUN_FINISHED" && what(o) != "cancelled":
		return errors.New("unknown outcome")
	}
	return nil
}

func what(o *agWireOutcome) string {
	if o == nil {
		return ""
	}
	return o.Type
}

// subagent applies the start or the end of a subagent.
func (m *agReducer) subagent(what string, e *agWire) error {
	a := m.agents[e.SubagentRunID]
	switch {
	case what == "STARTED" && (e.SubagentRunID == "" || e.Name == "" || a != nil):
		return fmt.Errorf("the subagent is known: %v", a != nil)
	case what == "STARTED" && e.ParentSubagentRunID != "" && m.agents[e.ParentSubagentRunID] == nil:
		return errors.New("the subagent around it has not started")
	case what == "STARTED":
		m.agents[e.SubagentRunID] = &agAgentShown{name: e.Name, parent: e.ParentSubagentRunID, call: e.ParentToolCallID}
		return nil
	case a == nil || a.ended != "":
		return errors.New("the subagent is not open")
	case what == "ERROR" && e.Message == "":
		return errors.New("a required field is absent")
	}
	a.ended = what
	return nil
}

// own checks the tag of an event that opens an entity, and records its owner. An event
// without a tag agrees with any owner.
func (m *agReducer) own(id, tag string) error {
	owner, known := m.owners[id]
	if known && tag != "" && tag != owner {
		return fmt.Errorf("the tag %q does not match the owner %q", tag, owner)
	}
	if tag != "" && m.agents[tag] == nil && !known {
		return fmt.Errorf("the subagent %s has not started", tag)
	}
	if !known {
		m.owners[id] = tag
	}
	return nil
}

// text applies an event of a text, whose open messages are in the set.
func (m *agReducer) text(what string, open map[string]bool, e *agWire) error {
	if e.MessageID == "" || open[e.MessageID] == (what == "START") {
		return fmt.Errorf("the message is open: %v", open[e.MessageID])
	}
	at := m.find(e.MessageID)
	switch what {
	case "START":
		if e.Role == "" {
			return errors.New("no role")
		}
		open[e.MessageID] = true
		if err := m.own(e.MessageID, e.SubagentRunID); err != nil {
			return err
		}
		if at == nil {
			m.messages = append(m.messages, &agShown{ID: e.MessageID, Role: e.Role, Subagent: e.SubagentRunID})
		} else if at.Role != e.Role {
			return fmt.Errorf("the id is that of a message of role %s", at.Role)
		}
		return nil
	case "CONTENT":
		if e.Delta == "" {
			return errors.New("an empty delta")
		}
		m.deltas++
		at.Content = quoted(at.text() + e.Delta)
		return nil
	case "END":
		delete(open, e.MessageID)
		return nil
	}
	return errors.New("unknown type: the client drops it with a warning")
}

func (m *agReducer) reasoning(what string, e *agWire) error {
	switch what {
	case "START", "END":
		if e.MessageID == "" || m.spans[e.MessageID] == (what == "START") || m.reasons[e.MessageID] {
			return errors.New("the reasoning is open")
		}
		m.spans[e.MessageID] = true
		if what == "END" {
			delete(m.spans, e.MessageID)
		}
		return nil
	}
	if !m.spans[e.MessageID] || what == "MESSAGE_START" && e.Role != "reasoning" {
		return errors.New("the span is not open")
	}
	return m.text(strings.TrimPrefix(what, "MESSAGE_"), m.reasons, e)
}

// tool applies an event of a call.
func (m *agReducer) tool(what string, e *agWire) error {
	c := m.calls[e.ToolCallID]
	switch {
	case e.ToolCallID == "" || (c == nil) != (what == "START"):
		return fmt.Errorf("the call is known: %v", c != nil)
	case what == "RESULT":
		return m.result(c, e)
	case what == "START":
		return m.startTool(e)
	case !c.open:
		return errors.New("the args have ended")
	case what == "ARGS":
		if e.Delta == "" {
			return errors.New("an empty delta")
		}
		m.deltas++
		c.args += e.Delta
		m.toolCall(e.ToolCallID).Function.Arguments += e.Delta
		return nil
	case what == "END":
		c.open = false
		if args := m.toolCall(e.ToolCallID).Function.Arguments; !json.Valid([]byte(args)) {
			return fmt.Errorf("the args are not JSON: %q", args)
		}
		return nil
	}
	return errors.New("unknown type: the client drops it with a warning")
}

func (m *agReducer) startTool(e *agWire) error {
	if e.ToolCallName == "" || e.ParentMessageID == "" || e.Metadata["streamer"] == nil {
		return errors.New("a required field is absent")
	}
	m.calls[e.ToolCallID] = &agCallShown{open: true}
	if m.toolCall(e.ToolCallID) != nil {
		return errors.New("the client has the call: its args are doubled")
	}
	at := m.find(e.ParentMessageID)
	if err := m.own(e.ParentMessageID, e.SubagentRunID); err != nil {
		return err
	}
	if at == nil {
		at = &agShown{ID: e.ParentMessageID, Role: "assistant", Subagent: e.SubagentRunID}
		m.messages = append(m.messages, at)
	}
	if at.Role != "assistant" {
		return fmt.Errorf("the message of the call is one of role %s", at.Role)
	}
	one := &agToolCall{ID: e.ToolCallID, Type: "function"}
	one.Function.Name = e.ToolCallName
	at.ToolCalls = append(at.ToolCalls, one)
	return nil
}

// result inserts the message with a result after the message of its call.
func (m *agReducer) result(c *agCallShown, e *agWire) error {
	c.results++
	switch {
	case c.open || c.results > 1:
		return fmt.Errorf("result %d, the args are open: %v", c.results, c.open)
	case e.Content == nil || e.MessageID == "" || e.Role != "tool" || e.Metadata["streamer"] == nil:
		return errors.New("a required field is absent")
	case m.find(e.MessageID) != nil:
		return errors.New("the client has the result: it is doubled")
	}
	at := slices.IndexFunc(m.messages, func(s *agShown) bool {
		return slices.ContainsFunc(s.ToolCalls, func(t *agToolCall) bool { return t.ID == e.ToolCallID })
	}) + 1
	for at < len(m.messages) && m.messages[at].Role == "tool" {
		at++
	}
	m.messages = slices.Insert(m.messages, at, &agShown{ID: e.MessageID, Role: "tool", ToolCallID: e.ToolCallID, Content: e.Content, Subagent: e.SubagentRunID})
	return nil
}

// snapshot replaces the messages, but keeps those of reasoning if it has none.
func (m *agReducer) snapshot(list []json.RawMessage) error {
	var next []*agShown
	byID := map[string]*agShown{}
	reasoning := false
	for _, raw := range list {
		s := new(agShown)
		if err := json.Unmarshal(raw, s); err != nil {
			return err
		}
		reasoning = reasoning || s.Role == "reasoning"
		next, byID[s.ID] = append(next, s), s
	}
	var kept []*agShown
	for _, old := range m.messages {
		switch s := byID[old.ID]; {
		case s != nil:
			kept = append(kept, s)
			delete(byID, old.ID)
		case old.Role == "reasoning" && !reasoning:
			kept = append(kept, old)
		}
	}
	for _, s := range next {
		if byID[s.ID] != nil {
			kept = append(kept, s)
		}
	}
	m.messages = kept
	return nil
}

// find returns the message of an id, or nil.
func (m *agReducer) find(id string) *agShown {
	i := slices.IndexFunc(m.messages, func(s *agShown) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return m.messages[i]
}

// toolCall returns the call of an id, or nil.
func (m *agReducer) toolCall(id string) *agToolCall {
	for _, s := range m.messages {
		for _, t := range s.ToolCalls {
			if t.ID == id {
				return t
			}
		}
	}
	return nil
}

// history returns the messages as the client sends them.
func (m *agReducer) history() (list []json.RawMessage) {
	for _, s := range m.messages {
		list = append(list, marshal(s))
	}
	return list
}

// String returns all that the client shows.
func (m *agReducer) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %+v\n", m.ended, m.outcome)
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		fmt.Fprintf(&b, "subagent %s %+v\n", id, *m.agents[id])
	}
	for _, s := range m.messages {
		fmt.Fprintf(&b, "%s\n", marshal(s))
	}
	return b.String()
}

// text returns the content of a message, "" if it has none.
func (s *agShown) text() (text string) {
	if s.Content != nil && json.Unmarshal(*s.Content, &text) != nil {
		return string(*s.Content)
	}
	return text
}

func quoted(text string) *json.RawMessage {
	raw := marshal(text)
	return &raw
}

func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// open returns the number of calls without a result.
func (m *agReducer) open() (n int) {
	for _, c := range m.calls {
		if c.results == 0 {
			n++
		}
	}
	return n
}
