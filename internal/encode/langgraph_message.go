package encode

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"streamer/internal/events"
)

// maxNames is the maximum number of message names that are remembered.
const maxNames = 10_000

// lgMessage is a message of a LangGraph stream.
type lgMessage struct {
	place events.Place
	name  string    // its id in the stream
	role  string    // ai, human, system or tool
	event events.ID // of its start
	calls int       // number of calls that began in it
}

// chunkType returns the type of the chunks of the message.
func (m *lgMessage) chunkType() string {
	switch m.role {
	case "human":
		return "HumanMessageChunk"
	case "system":
		return "SystemMessageChunk"
	}
	return "AIMessageChunk"
}

// lgRole returns the role of a message in the terms of LangChain.
func lgRole(role string) string {
	switch role {
	case "user", "human":
		return "human"
	case "system", "developer":
		return "system"
	case "tool":
		return "tool"
	}
	return "ai"
}

// lgMessages are the open messages of a stream, and the names that are in use. The
// zero value has none.
type lgMessages struct {
	open []*lgMessage
	used map[string]bool
}

// start returns a new message.
func (l *lgMessages) start(e *events.Event) *lgMessage {
	m := &lgMessage{role: lgRole(e.Role), event: e.EventID}
	if e.Place != nil {
		m.place = *e.Place
	}
	m.name = l.unique(m)
	l.open = append(l.open, m)
	return m
}

// unique returns a name that no other message of the stream has. Clients merge
// messages of one id. It is that of the provider as far as possible.
func (l *lgMessages) unique(m *lgMessage) string {
	name := m.place.MessageID
	if m.place.Namespace != "" {
		name += "~" + m.place.Namespace
	}
	if m.place.Choice != 0 {
		name += "~" + strconv.Itoa(m.place.Choice)
	}
	if m.place.MessageID == "" {
		name = "message" + name
	}
	if m.place.MessageID == "" || l.used[name] {
		name += "~" + m.event.String()
	}
	if l.used == nil || len(l.used) >= maxNames {
		l.used = map[string]bool{}
	}
	l.used[name] = true
	return name
}

// of returns the open message of an event. There is always one.
func (l *lgMessages) of(e *events.Event) *lgMessage {
	var p events.Place
	if e.Place != nil {
		p = *e.Place
	}
	for _, m := range slices.Backward(l.open) {
		if m.place == p {
			return m
		}
	}
	return l.start(&events.Event{EventID: e.EventID, Place: &p})
}

// remove removes a message that has ended.
func (l *lgMessages) remove(m *lgMessage) {
	l.open = slices.DeleteFunc(l.open, func(o *lgMessage) bool { return o == m })
}

// lgCall is an open call.
type lgCall struct {
	call, id, name string
	wire           string // the provider's id
	of             *lgMessage
	index          int // among the calls of its message
	args           lgArgs
	complete       bool // its args are complete and valid
}

func newLGCall(e *events.Event, m *lgMessage) *lgCall {
	c := &lgCall{call: e.Call, id: callID(e), name: callName(e), wire: e.ID, of: m, index: m.calls, args: lgArgs{text: e.Kind == "custom"}}
	m.calls++
	return c
}

// cut returns the end of a call whose args are incomplete or invalid when its run
// completes: no client can answer it.
func (c *lgCall) cut(end *events.Event) *events.Event {
	text := events.Fill(events.Sentence(events.TextArgs, events.Langs[0]), c.name, c.id)
	return &events.Event{
		Type: events.ToolCallResult, EventID: end.EventID, Run: end.Run, Timestamp: end.Timestamp, Place: &c.of.place,
		Call: c.call, ID: c.wire, UID: c.id, ToolName: c.name,
		Status: events.Cancelled, Reason: &events.Reason{Code: argsIncomplete}, ToolResult: events.Quote(text),
	}
}

// callID returns the id of a call that is unique in its session.
func callID(e *events.Event) string {
	if e.UID == "" {
		return e.Call
	}
	return e.UID
}

// callName returns the name of the tool.
func callName(e *events.Event) string {
	if e.ToolName == "" {
		return "unknown"
	}
	return e.ToolName
}

// lgArgs is the progress of the args of a call. LangChain has no args but objects, so
// free text and other JSON are the value of freeText.
type lgArgs struct {
	text   bool // they are free text
	plain  bool // they are an object or free text, so that deltas are sent as they come
	broken bool // a delta replaced bytes that were sent
	sent   int  // bytes of the model's text that were sent
}

// freeText begins the args of a call whose args are not an object.
const freeText = `{"__arg1":`

// delta returns the next bytes of the args.
func (a *lgArgs) delta(e *events.Event) string {
	at := e.Offset.Bytes()
	if at == 0 && a.sent == 0 {
		a.plain = a.text || strings.HasPrefix(e.Args, "{")
	}
	if !a.plain || a.broken || at != a.sent {
		a.broken = a.broken || a.sent > 0 && at != a.sent
		return ""
	}
	return a.next(e.Args)
}

// next returns the form of the next bytes of the args.
func (a *lgArgs) next(text string) string {
	if text == "" {
		return ""
	}
	first := a.sent == 0
	a.sent += len(text)
	if !a.text {
		return text
	}
	quoted := events.Quote(text)
	piece := string(quoted[1 : len(quoted)-1])
	if first {
		return freeText + `"` + piece
	}
	return piece
}

// rest returns the bytes after which the deltas of the args are the whole args.
func (a *lgArgs) rest(e *events.Event) string {
	text := ""
	if e.ArgsText != nil {
		text = *e.ArgsText
	}
	switch {
	case a.broken || a.sent > len(text):
		return ""
	case a.sent == 0:
		a.sent = len(text)
		if e.ArgsValid != nil && !*e.ArgsValid {
			return text
		}
		return string(lgObject(e))
	case a.text:
		return a.next(text[a.sent:]) + `"}`
	}
	return a.next(text[a.sent:])
}

// lgObject returns valid args as an object.
func lgObject(e *events.Event) json.RawMessage {
	args := e.ToolArgs
	if len(args) == 0 && e.ArgsText != nil {
		args = events.Quote(*e.ArgsText)
	}
	switch {
	case len(args) == 0:
		return json.RawMessage("{}")
	case args[0] == '{':
		return args
	}
	return json.RawMessage(freeText + string(args) + "}")
}

// lgToolMessage returns the result of a call as a ToolMessage. Its id is derived from
// the call, so that it is the same in each stream.
func lgToolMessage(e *events.Event) lgChunk {
	data := &aiCallData{Call: e.Call, ParentCall: e.ParentCall, Status: e.Status, DurationMS: e.DurationMS, RunMS: e.RunMS}
	if e.Reason != nil {
		data.Reason, data.Detail = e.Reason.Code, e.Reason.Detail
	}
	m := lgChunk{
		Type: "tool", ID: "result-" + e.Call, ToolCallID: callID(e), Name: callName(e), Status: "success",
		AdditionalKwargs: lgKwargs{Streamer: data},
	}
	if e.Status != events.Completed {
		m.Status, m.Content = "error", resultText(e)
	} else if json.Unmarshal(e.ToolResult, &m.Content) != nil {
		m.Content = string(e.ToolResult)
	}
	return m
}

// interruptID returns the id of a wait for a person.
func interruptID(e *events.Event) string {
	if e.InterruptID == "" {
		return e.Call
	}
	return e.InterruptID
}

// lgAsked is the value of an interrupt.
type lgAsked struct {
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name"`
	Kind       string `json:"kind,omitempty"`
}

func lgAskedOf(e *events.Event) lgAsked { return lgAsked{callID(e), callName(e), e.Kind} }

// lgUsage is the usage of a message. Clients add these numbers up.
type lgUsage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
}

// lgUsageOf returns the usage of a provider in the form of LangChain, nil if it has
// no number that is known.
func lgUsageOf(raw json.RawMessage) *lgUsage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	first := func(names ...string) (n int64) {
		for _, name := range names {
			if json.Unmarshal(all[name], &n) == nil && n > 0 {
				return n
			}
		}
		return 0
	}
	u := &lgUsage{
		Input:  first("input_tokens", "prompt_tokens", "inputTokens", "promptTokenCount", "prompt_eval_count"),
		Output: first("output_tokens", "completion_tokens", "outputTokens", "candidatesTokenCount", "eval_count"),
	}
	if u.Total = first("total_tokens", "totalTokens", "totalTokenCount"); u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	if u.Total == 0 {
		return nil
	}
	return u
}
