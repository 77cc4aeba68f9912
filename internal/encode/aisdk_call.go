package encode

import (
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/events"
)

// maxInvalid is the maximum number of bytes of invalid args in a tool-input-error.
const maxInvalid = 4 << 10

// aiCall is an open call.
type aiCall struct {
	call, id, name string
	started        events.Time
	parent         string
	step           int  // number of the step in which it started
	provider       bool // the provider executes it
	text           bool // its args are free text, which is a JSON string here
	plain          bool // its args are an object, so that deltas are sent as they come
	sent           int  // bytes of the args that were sent
	complete       bool // tool-input-available was sent
	invalid        string
	approval       string // id of the request that was sent, "" if none was
}

// inputOpen reports whether the client shows the input as incomplete. Args that are
// complete and invalid have no tool-input-available.
func (c *aiCall) inputOpen() bool { return !c.complete }

func (c *aiCall) source() source { return source{call: c.call} }

// aiToolMetadata is in the part of a call. The client shows it as it is.
type aiToolMetadata struct {
	Streamer aiCallData `json:"streamer"`
}

type aiCallData struct {
	Call       string        `json:"call"` // its name in events
	StartedAt  *events.Time  `json:"startedAt,omitempty"`
	ParentCall string        `json:"parentCall,omitempty"`
	Status     events.Status `json:"status,omitempty"` // the rest is that of the end
	Reason     events.Code   `json:"reason,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	DurationMS *int64        `json:"durationMs,omitempty"`
	RunMS      *int64        `json:"runMs,omitempty"`
}

// metadata returns the metadata of a call that is open.
func (c *aiCall) metadata() *aiToolMetadata {
	m := &aiToolMetadata{aiCallData{Call: c.call, ParentCall: c.parent}}
	if c.started != 0 {
		m.Streamer.StartedAt = &c.started
	}
	return m
}

// ended returns the metadata of a call that has ended.
func (c *aiCall) ended(status events.Status, reason *events.Reason) *aiToolMetadata {
	m := c.metadata()
	m.Streamer.Status = status
	if reason != nil {
		m.Streamer.Reason, m.Streamer.Detail = reason.Code, reason.Detail
	}
	return m
}

// call returns the open call of a name, or nil.
func (a *aiSDK) call(name string) *aiCall {
	i := slices.IndexFunc(a.calls, func(c *aiCall) bool { return c.call == name })
	if i < 0 {
		return nil
	}
	return a.calls[i]
}

func (a *aiSDK) startCall(e *events.Event) {
	if e.Call == "" || a.call(e.Call) != nil {
		return
	}
	a.beginStep()
	c := &aiCall{
		call: e.Call, id: e.UID, name: e.ToolName, started: e.Timestamp, parent: e.ParentCall,
		step: a.steps, provider: e.ProviderExecuted, text: e.Kind == "custom",
	}
	if c.id == "" {
		c.id = c.call
	}
	if c.name == "" {
		c.name = "unknown"
	}
	a.calls = append(a.calls, c)
	a.send(aiChunk{Type: "tool-input-start", ToolCallID: c.id, ToolName: c.name, ProviderExecuted: c.provider, ToolMetadata: c.metadata()})
}

// args adds a fragment of the args. Where a fragment replaces bytes that were sent
// already, the client gets no more deltas, and tool-input-available has the right
// input.
func (a *aiSDK) args(e *events.Event) {
	c := a.call(e.Call)
	if c == nil || c.complete {
		return
	}
	at := e.Offset.Bytes()
	if at == 0 && c.sent == 0 {
		a.deltas.take(c.source())
		// Other JSON can become another input: null is {}, and a string can hold
		// an object. It is sent when it is complete.
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
func (a *aiSDK) sendArgs(c *aiCall, text string) {
	if c == nil || text == "" {
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
	a.send(aiChunk{Type: "tool-input-delta", ToolCallID: c.id, InputTextDelta: delta})
}

// argsComplete appends the rest of the args and the whole input. Invalid args end the
// call, but only with its result: the tool may have taken them.
func (a *aiSDK) argsComplete(e *events.Event) {
	c := a.call(e.Call)
	if c == nil || c.complete {
		return
	}
	held := a.deltas.take(c.source())
	text := ""
	if e.ArgsText != nil {
		text = *e.ArgsText
	}
	if e.ArgsValid != nil && !*e.ArgsValid {
		if c.plain {
			a.sendArgs(c, held)
		}
		c.invalid = beginning(text)
		return
	}
	input := e.ToolArgs
	if len(input) == 0 {
		input = events.Quote(text)
	}
	a.sendRest(c, text, input)
	c.complete = true
	a.send(aiChunk{Type: "tool-input-available", ToolCallID: c.id, ToolName: c.name, Input: input, ProviderExecuted: c.provider})
}

// sendRest appends the delta after which the deltas of a call are its input.
func (a *aiSDK) sendRest(c *aiCall, text string, input json.RawMessage) {
	switch {
	case c.sent == 0:
		a.send(aiChunk{Type: "tool-input-delta", ToolCallID: c.id, InputTextDelta: string(input)})
	case !c.plain || c.sent > len(text):
		// The deltas so far were replaced.
	case c.text:
		a.sendArgs(c, text[c.sent:])
		a.send(aiChunk{Type: "tool-input-delta", ToolCallID: c.id, InputTextDelta: `"`})
	default:
		a.sendArgs(c, text[c.sent:])
	}
}

// beginning returns the first bytes of a text, at most maxInvalid, without a cut
// character at the end.
func beginning(text string) string {
	if len(text) <= maxInvalid {
		return text
	}
	return strings.ToValidUTF8(text[:maxInvalid], "") + "…"
}

// await appends the request of an approval. Its id is that of the wait on the wire,
// unless another call has it: the client finds the call by it.
func (a *aiSDK) await(e *events.Event) {
	c := a.call(e.Call)
	if c == nil || !c.complete {
		return
	}
	id := e.InterruptID
	if id == "" || slices.ContainsFunc(a.calls, func(o *aiCall) bool { return o != c && o.approval == id }) {
		id = strings.TrimPrefix(id+"~"+c.call, "~")
	}
	c.approval = id
	a.send(aiChunk{Type: "tool-approval-request", ToolCallID: c.id, ApprovalID: id})
}

// aiProgress is the data of the part data-streamer-progress.
type aiProgress struct {
	ToolCallID string   `json:"toolCallId"`
	Message    string   `json:"message,omitempty"`
	Percent    *float64 `json:"percent,omitempty"`
}

// progress appends a data part, which replaces that of the previous progress. A
// preliminary output would show the call as completed.
func (a *aiSDK) progress(e *events.Event) {
	if c := a.call(e.Call); c != nil {
		a.send(aiChunk{Type: "data-streamer-progress", ID: c.id, Data: aiProgress{c.id, e.Progress, e.Percent}})
	}
}

// result appends the end of a call.
func (a *aiSDK) result(e *events.Event) {
	c := a.call(e.Call)
	if c == nil {
		return
	}
	m := c.ended(e.Status, e.Reason)
	m.Streamer.DurationMS, m.Streamer.RunMS = e.DurationMS, e.RunMS
	switch e.Status {
	case events.Completed:
		a.remove(c, "")
		a.respond(c, true)
		output := e.ToolResult
		if len(output) == 0 {
			output = json.RawMessage("null")
		}
		a.send(aiChunk{Type: "tool-output-available", ToolCallID: c.id, Output: output, ToolMetadata: m})
	case events.Denied:
		a.remove(c, "")
		a.respond(c, false)
		a.send(aiChunk{Type: "tool-output-denied", ToolCallID: c.id})
	default:
		a.fail(c, resultText(e), m)
	}
}

// respond appends the answer to the request of an approval, if there was one.
func (a *aiSDK) respond(c *aiCall, approved bool) {
	if c.approval != "" {
		a.send(aiChunk{Type: "tool-approval-response", ApprovalID: c.approval, Approved: &approved})
	}
}

// resultText returns the text of a result that is not a success.
func resultText(e *events.Event) string {
	var text string
	switch {
	case json.Unmarshal(e.ToolResult, &text) == nil && text != "":
		return text
	case len(e.ToolResult) > 0 && string(e.ToolResult) != `""`:
		return string(e.ToolResult)
	}
	return reasonText(e.Reason, "The tool failed without a text.")
}

// closeCall ends a call that is open when its run fails or is cancelled.
func (a *aiSDK) closeCall(c *aiCall, reason *events.Reason) {
	a.fail(c, reasonText(reason, "The run ended before the call."), c.ended(events.Cancelled, reason))
}

// argsIncomplete is the reason of a call whose input was incomplete or invalid when
// its run completed. The event log closes the call later, by a deadline.
const argsIncomplete events.Code = "args_incomplete"

// closeCut ends a call whose input is incomplete or invalid when its run completes.
func (a *aiSDK) closeCut(c *aiCall) {
	text := events.Fill(events.Sentence(events.TextArgs, events.Langs[0]), c.name, c.id)
	a.fail(c, text, c.ended(events.Cancelled, &events.Reason{Code: argsIncomplete}))
}

// fail ends a call with an error. Invalid args are in a tool-input-error: the client
// finds the call, because its step does not finish before.
func (a *aiSDK) fail(c *aiCall, text string, m *aiToolMetadata) {
	a.remove(c, m.Streamer.Reason)
	if c.invalid != "" {
		a.send(aiChunk{Type: "tool-input-error", ToolCallID: c.id, ToolName: c.name, Input: events.Quote(c.invalid), ErrorText: text, ProviderExecuted: c.provider, ToolMetadata: m})
		return
	}
	a.send(aiChunk{Type: "tool-output-error", ToolCallID: c.id, ErrorText: text, ToolMetadata: m})
}

// remove removes a call that ends for a reason, and appends the args of it that are
// held. A step with a call of which something remains is never reset.
func (a *aiSDK) remove(c *aiCall, reason events.Code) {
	if c.step == a.steps && reason != events.BySuperseded {
		a.step.kept = true
	}
	a.sendArgs(c, a.deltas.take(c.source()))
	a.calls = slices.DeleteFunc(a.calls, func(o *aiCall) bool { return o == c })
}
