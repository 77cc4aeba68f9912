package encode

import (
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/events"
	"streamer/internal/jsonscan"
)

// agCall is an open call.
type agCall struct {
	call, id, name string
	resultID       string // id of the message with its result
	data           agCallData
	text           bool // its args are free text, which is a JSON string here
	plain          bool // its args are an object, so that deltas are sent as they come
	sent           int  // bytes of the args that were taken
	scan           jsonscan.Scanner
	ended          bool // TOOL_CALL_END was sent
	invalid        bool // its args are complete and not JSON
	awaits         *agInterrupt
}

func (c *agCall) source() source { return source{call: c.call} }

// agCallData is about a call: in the metadata of the call, and with the fields of its
// end in the metadata of the message with its result.
type agCallData struct {
	Call             string        `json:"call"` // its name in events
	Run              string        `json:"run,omitempty"`
	StartedAt        *events.Time  `json:"startedAt,omitempty"`
	ParentCall       string        `json:"parentCall,omitempty"`
	ProviderExecuted bool          `json:"providerExecuted,omitempty"`
	ArgsIncomplete   bool          `json:"argsIncomplete,omitempty"` // their end was added
	Args             string        `json:"args,omitempty"`           // as the model wrote them, where the stream has others
	Status           events.Status `json:"status,omitempty"`         // the rest is that of the end
	Reason           events.Code   `json:"reason,omitempty"`
	Detail           string        `json:"detail,omitempty"`
	DurationMS       *int64        `json:"durationMs,omitempty"`
	RunMS            *int64        `json:"runMs,omitempty"`
}

// call returns the open call of a name, or nil.
func (a *agUI) call(name string) *agCall {
	i := slices.IndexFunc(a.calls, func(c *agCall) bool { return c.call == name })
	if i < 0 {
		return nil
	}
	return a.calls[i]
}

func (a *agUI) startCall(e *events.Event) {
	if e.Call == "" || a.call(e.Call) != nil {
		return
	}
	c := &agCall{
		call: e.Call, id: e.UID, name: e.ToolName, resultID: resultID(e.EventID), text: e.Kind == "custom",
		data: agCallData{Call: e.Call, Run: e.Run, ParentCall: e.ParentCall, ProviderExecuted: e.ProviderExecuted},
	}
	if e.Timestamp != 0 {
		c.data.StartedAt = &e.Timestamp
	}
	if c.id == "" {
		c.id = c.call
	}
	if c.name == "" {
		c.name = "unknown"
	}
	a.calls = append(a.calls, c)
	a.send(agEvent{
		Type: "TOOL_CALL_START", ToolCallID: c.id, ToolCallName: c.name,
		ParentMessageID: a.message(e).id, Metadata: &agMetadata{c.data},
	})
}

// args adds a fragment of the args. Where a fragment replaces bytes that were sent
// already, the client gets no more of them.
func (a *agUI) args(e *events.Event) {
	c := a.call(e.Call)
	if c == nil || c.ended {
		return
	}
	at := e.Offset.Bytes()
	if at == 0 && c.sent == 0 {
		a.deltas.take(c.source())
		// Other JSON can become another input: a string can hold an object. It is
		// sent when it is complete.
		c.plain = c.text || strings.HasPrefix(e.Args, "{")
	}
	switch held := a.deltas.length(c.source()); {
	case !c.plain:
		return
	case at < c.sent || at > c.sent+held:
		c.plain = false
		a.deltas.take(c.source())
		return
	default:
		a.deltas.keep(c.source(), at-c.sent)
	}
	a.deltas.add(c.source(), e.Args)
}

// sendArgs appends a delta of the args of a call.
func (a *agUI) sendArgs(c *agCall, text string) {
	if text == "" {
		return
	}
	delta := text
	if c.text {
		quoted := events.Quote(text)
		delta = string(quoted[1 : len(quoted)-1])
		if c.sent == 0 {
			delta = `"` + delta
		}
	}
	c.sent += len(text)
	a.sendJSON(c, delta)
}

// sendJSON appends a delta, up to the first byte with which the args are not JSON.
// There are no further deltas then.
func (a *agUI) sendJSON(c *agCall, delta string) {
	if whole := c.scan; whole.Write(delta) == jsonscan.Bad {
		delta = delta[:whole.Offset()-c.scan.Offset()]
		c.plain = false
	}
	c.scan.Write(delta)
	if delta != "" {
		a.send(agEvent{Type: "TOOL_CALL_ARGS", ToolCallID: c.id, Delta: delta})
	}
}

// argsComplete appends the rest of the args and their end.
func (a *agUI) argsComplete(e *events.Event) {
	c := a.call(e.Call)
	if c == nil || c.ended {
		return
	}
	a.deltas.take(c.source()) // the text has them
	text := ""
	if e.ArgsText != nil {
		text = *e.ArgsText
	}
	c.invalid = e.ArgsValid != nil && !*e.ArgsValid
	object := strings.HasPrefix(text, "{")
	switch {
	case c.sent > 0 && (!c.plain || c.sent > len(text)):
		c.data.Args = beginning(text) // the deltas so far were replaced
	case c.text || object:
		a.sendArgs(c, text[c.sent:])
	case c.invalid:
		// Nothing is certain to be the beginning of an object.
	case len(e.ToolArgs) > 0:
		a.sendJSON(c, string(e.ToolArgs))
	default:
		a.sendJSON(c, string(events.Quote(text)))
	}
	if c.invalid {
		c.data.Args = beginning(text)
	}
	a.endArgs(c, true)
}

// endArgs appends the end of the args. Args that are incomplete, or not JSON, get an
// end that makes them JSON, and the metadata of the call states this.
func (a *agUI) endArgs(c *agCall, complete bool) {
	rest := string(c.scan.AppendEnd(nil))
	switch {
	case c.scan.Offset() == 0 && c.text:
		rest = `""`
	case c.scan.Offset() == 0:
		rest = "{}"
	}
	if rest != "" {
		c.data.ArgsIncomplete = !complete || !c.text
		a.send(agEvent{Type: "TOOL_CALL_ARGS", ToolCallID: c.id, Delta: rest})
	}
	c.ended = true
	a.send(agEvent{Type: "TOOL_CALL_END", ToolCallID: c.id, Metadata: &agMetadata{c.data}})
}

// result appends the result of a call, and before it the end of its args.
func (a *agUI) result(e *events.Event) {
	c := a.call(e.Call)
	if c == nil {
		return
	}
	content := ""
	switch {
	case e.Status != events.Completed:
		content = resultText(e)
	case json.Unmarshal(e.ToolResult, &content) != nil:
		content = string(e.ToolResult)
	}
	data := c.data
	data.DurationMS, data.RunMS = e.DurationMS, e.RunMS
	a.end(c, content, data, e.Status, e.Reason)
}

// closeCall ends a call that is open when its run fails or is cancelled.
func (a *agUI) closeCall(c *agCall, reason *events.Reason) {
	a.end(c, reasonText(reason, "The run ended before the call."), c.data, events.Cancelled, reason)
}

// closeCut ends a call whose args are incomplete or invalid when its run completes.
func (a *agUI) closeCut(c *agCall) {
	text := events.Fill(events.Sentence(events.TextArgs, events.Langs[0]), c.name, c.id)
	a.end(c, text, c.data, events.Cancelled, &events.Reason{Code: argsIncomplete})
}

// end appends the result of a call that ends.
func (a *agUI) end(c *agCall, content string, data agCallData, status events.Status, reason *events.Reason) {
	if !c.ended {
		if held := a.deltas.take(c.source()); c.plain {
			a.sendArgs(c, held)
		}
		a.endArgs(c, false)
	}
	data.ArgsIncomplete, data.Args, data.Status = c.data.ArgsIncomplete, "", status
	if reason != nil {
		data.Reason, data.Detail = reason.Code, reason.Detail
	}
	a.calls = slices.DeleteFunc(a.calls, func(o *agCall) bool { return o == c })
	a.send(agEvent{
		Type: "TOOL_CALL_RESULT", MessageID: c.resultID, ToolCallID: c.id, Role: "tool",
		Content: &content, Metadata: &agMetadata{data},
	})
}
