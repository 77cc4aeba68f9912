package encode

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"streamer/internal/events"
)

// maxNames is the maximum number of message names that are remembered.
const maxNames = 10_000

type lgMessage struct {
	place events.Place
	name  string    // its id in the stream
	role  string    // ai, human, system or tool
	event events.ID // of its start
	calls int       // number of calls that began in it
}

func (m *lgMessage) chunkType() string {
	switch m.role {
	case "human":
		return "HumanMessageChunk"
	case "system":
		return "SystemMessageChunk"
	}
	return "AIMessageChunk"
}

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
	open     []*lgMessage
	question *lgMessage // the human message whose text can continue
	used     map[string]bool
}

func (l *lgMessages) start(e *events.Event) *lgMessage {
	m := l.named(e)
	l.open = append(l.open, m)
	return m
}

// named returns a new message with a name that no other message has.
func (l *lgMessages) named(e *events.Event) *lgMessage {
	m := &lgMessage{role: lgRole(e.Role), event: e.EventID, place: placeOf(e)}
	m.name = l.unique(m)
	return m
}

// human returns the human message of an event, and reports whether it begins.
func (l *lgMessages) human(e *events.Event) (m *lgMessage, begins bool) {
	if m := l.question; m != nil && m.place == placeOf(e) && e.Offset.Bytes() > 0 {
		return m, false
	}
	l.question = l.named(e)
	return l.question, true
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
	p := placeOf(e)
	for _, m := range slices.Backward(l.open) {
		if m.place == p {
			return m
		}
	}
	return l.start(&events.Event{EventID: e.EventID, Place: &p})
}

func (l *lgMessages) remove(m *lgMessage) {
	l.open = slices.DeleteFunc(l.open, func(o *lgMessage) bool { return o == m })
}

type lgCall struct {
	openCall
	of       *lgMessage
	index    int  // among the calls of its message
	broken   bool // a delta replaced bytes of the args that were sent
	complete bool // the args are complete and valid
}

func newLGCall(e *events.Event, m *lgMessage, ids *callIDs) *lgCall {
	c := &lgCall{openCall: newCall(e, ids), of: m, index: m.calls}
	m.calls++
	return c
}

// cut returns the end of a call whose args are incomplete or invalid when its run
// completes, or whose session is erased: no client can answer it.
func (c *lgCall) cut(end *events.Event) *events.Event {
	reason, text := &events.Reason{Code: argsIncomplete}, cutText(&c.openCall)
	if isErasure(end) {
		reason, text = end.Reason, end.Reason.Text
	}
	return &events.Event{
		Type: events.ToolCallResult, EventID: end.EventID, Run: end.Run, Timestamp: end.Timestamp, Place: &c.of.place,
		Call: c.call, UID: c.id, ToolName: c.name,
		Status: events.Cancelled, Reason: reason, ToolResult: events.Quote(text),
	}
}

// freeText begins the args of a call whose args are not an object: LangChain has no
// other args, so free text and other JSON are a value of this name.
const freeText = `{"__arg1":`

// delta returns the next bytes of the args.
func (c *lgCall) delta(e *events.Event) string {
	at := e.Offset.Bytes()
	if at == 0 && c.args.sent == 0 {
		c.args.begin(e)
	}
	if !c.args.plain || c.broken || at != c.args.sent {
		c.broken = c.broken || c.args.sent > 0 && at != c.args.sent
		return ""
	}
	return c.next(e.Args)
}

// next returns the form of the next bytes of the args.
func (c *lgCall) next(text string) string {
	if c.args.text && c.args.sent == 0 && text != "" {
		return freeText + c.args.next(text)
	}
	return c.args.next(text)
}

// rest returns the bytes after which the deltas of the args are the whole args.
func (c *lgCall) rest(e *events.Event) string {
	text := argsText(e)
	switch {
	case c.broken || c.args.sent > len(text):
		return ""
	case c.args.sent == 0:
		c.args.sent = len(text)
		if e.ArgsValid != nil && !*e.ArgsValid {
			return text
		}
		return string(lgObject(e))
	case c.args.text:
		return c.next(text[c.args.sent:]) + `"}`
	}
	return c.next(text[c.args.sent:])
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
// the call, so that it is the same in each stream. parent is the call that caused it.
func lgToolMessage(e *events.Event, parent string) lgChunk {
	data := callData{Call: e.Call, ParentCall: parent, DurationMS: e.DurationMS, RunMS: e.RunMS}.ended(e.Status, e.Reason)
	m := lgChunk{
		Type: "tool", ID: "result-" + e.Call, ToolCallID: callID(e), Name: callName(e), Content: contentOf(e), Status: "success",
		AdditionalKwargs: lgKwargs{Streamer: &data},
	}
	if e.Status != events.Completed {
		m.Status = "error"
	}
	return m
}

func interruptID(e *events.Event) string {
	return cmp.Or(e.InterruptID, e.Call)
}

type lgQuestion struct {
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name"`
	Kind       string `json:"kind,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func lgQuestionOf(e *events.Event) lgQuestion {
	return lgQuestion{callID(e), callName(e), e.Kind, requestReason(e)}
}

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
