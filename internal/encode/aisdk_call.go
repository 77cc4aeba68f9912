package encode

import (
	"encoding/json"
	"slices"
	"strings"

	"streamer/internal/events"
	"streamer/internal/jsonscan"
)

type aiCall struct {
	openCall
	step     int  // number of the step in which it started
	provider bool // the provider executes it
	complete bool // tool-input-available was sent; never for invalid args
	invalid  string
	text     []byte // the input so far, at most maxCut of it, until it is complete
	approval string // id of the request that was sent, "" if none was
	approved *bool  // the response that was sent, nil if none was
}

// maxCut is the maximum number of bytes of incomplete args that are shown at their end.
const maxCut = 64 << 10

// aiToolMetadata is in the part of a call. The client shows it as it is.
type aiToolMetadata struct {
	Streamer callData `json:"streamer"`
}

func (a *aiSDK) startCall(e *events.Event) {
	if e.Call == "" || findCall(a.calls, e.Call) != nil {
		return
	}
	a.beginStep()
	c := &aiCall{openCall: newCall(e, &a.callIDs), step: a.steps, provider: e.ProviderExecuted}
	a.calls = append(a.calls, c)
	a.send(aiChunk{Type: "tool-input-start", ToolCallID: c.id, ToolName: c.name, ProviderExecuted: c.provider, ToolMetadata: &aiToolMetadata{c.data}})
}

// addArgs adds a fragment of the args. If the client gets no more deltas,
// tool-input-available has the right input.
func (a *aiSDK) addArgs(e *events.Event) {
	if c := findCall(a.calls, e.Call); c != nil && !c.complete {
		a.deltas.addArgs(&c.openCall, e)
	}
}

func (a *aiSDK) sendArgs(c *aiCall, text string) {
	if text != "" {
		a.sendInput(c, c.args.next(text))
	}
}

func (a *aiSDK) sendInput(c *aiCall, delta string) {
	c.text = append(c.text, delta[:min(len(delta), maxCut-len(c.text))]...)
	a.dst = deltaFrame(a.dst, "tool-input-delta", 0, "toolCallId", c.id, "inputTextDelta", delta)
}

// completeArgs appends the rest of the args and the whole input. Invalid args end the
// call, but only with its result: the tool may have taken them.
func (a *aiSDK) completeArgs(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil || c.complete {
		return
	}
	held := a.deltas.take(c.source())
	text := argsText(e)
	if e.ArgsValid != nil && !*e.ArgsValid {
		if c.args.plain {
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
	c.complete, c.text = true, nil
	a.send(aiChunk{Type: "tool-input-available", ToolCallID: c.id, ToolName: c.name, Input: input, ProviderExecuted: c.provider})
}

// sendRest appends the delta after which the deltas of a call are its input.
func (a *aiSDK) sendRest(c *aiCall, text string, input json.RawMessage) {
	switch {
	case c.args.sent == 0:
		a.sendInput(c, string(input))
	case !c.args.plain || c.args.sent > len(text):
		// The deltas so far were replaced.
	case c.args.text:
		a.sendArgs(c, text[c.args.sent:])
		a.sendInput(c, `"`)
	default:
		a.sendArgs(c, text[c.args.sent:])
	}
}

// await appends the request of an approval. Its id is that of the wait on the wire,
// unless another call has it: the client finds the call by it.
func (a *aiSDK) await(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil || !c.complete {
		return
	}
	id := e.InterruptID
	if id == "" || slices.ContainsFunc(a.calls, func(o *aiCall) bool { return o != c && o.approval == id }) {
		id = strings.TrimPrefix(id+"~"+c.call, "~")
	}
	a.request(c, id, e.Request)
}

// request appends the request of an approval with the members that the wire has.
func (a *aiSDK) request(c *aiCall, id string, members json.RawMessage) {
	c.approval, c.approved = id, nil
	a.dst = append(a.dst, `data: {"type":"tool-approval-request"`...)
	a.dst = appendMember(a.dst, "toolCallId", c.id)
	a.dst = appendMember(a.dst, "approvalId", id)
	if len(members) > len("{}") {
		a.dst = append(append(a.dst, ','), members[1:len(members)-1]...)
	}
	a.dst = append(a.dst, "}\n\n"...)
}

// progress appends the request of an approval for which no person is asked, the response to
// one, or a data part, which replaces that of the previous progress. A preliminary output
// would show the call as completed.
func (a *aiSDK) progress(e *events.Event) {
	c := findCall(a.calls, e.Call)
	switch {
	case c == nil:
	case len(e.Request) > 0:
		a.request(c, e.InterruptID, e.Request)
	case e.Status != "":
		a.respond(c, e.Status != events.Denied, answerText(e))
	case e.Percent != nil || e.Progress != "" && !isClaim(e.Progress):
		a.send(aiChunk{Type: "data-streamer-progress", ID: c.id, Data: progressData{c.id, e.Progress, e.Percent}})
	}
}

func (a *aiSDK) result(e *events.Event) {
	c := findCall(a.calls, e.Call)
	if c == nil {
		return
	}
	m := &aiToolMetadata{c.data.ended(e.Status, e.Reason)}
	m.Streamer.DurationMS, m.Streamer.RunMS = e.DurationMS, e.RunMS
	switch {
	case e.Status == events.Completed:
		a.remove(c, "")
		a.respond(c, true, "")
		output := e.ToolResult
		if len(output) == 0 {
			output = json.RawMessage("null")
		}
		a.send(aiChunk{Type: "tool-output-available", ToolCallID: c.id, Output: output, ToolMetadata: m})
	case e.Status == events.Denied && c.complete:
		a.deny(c, denialReason(e))
	default:
		if e.Status == events.Error && !e.Synthetic {
			a.respond(c, true, "") // the tool ran
		}
		a.fail(c, resultText(e), m)
	}
}

// deny ends a call as denied. The client takes the reason from the response to a request, so
// both are sent if no person was asked, or if one approved before.
func (a *aiSDK) deny(c *aiCall, reason string) {
	a.remove(c, "")
	if c.approval == "" || c.approved != nil && *c.approved {
		a.request(c, c.call, json.RawMessage(`{"isAutomatic":true}`))
	}
	a.respond(c, false, reason)
	a.send(aiChunk{Type: "tool-output-denied", ToolCallID: c.id})
}

// parent appends a data part that names the call that caused another one. The part of
// that call has ended, and an end that is repeated would replace its output.
func (a *aiSDK) parent(e *events.Event) {
	id := callID(e)
	a.send(aiChunk{Type: "data-streamer-parent", ID: id, Data: parentData{id, a.of(e.ParentCall)}})
}

func (a *aiSDK) respond(c *aiCall, approved bool, reason string) {
	if c.approval != "" && c.approved == nil {
		c.approved = &approved
		a.send(aiChunk{Type: "tool-approval-response", ApprovalID: c.approval, Approved: &approved, Reason: reason})
	}
}

// fail ends a call with an error. Args that are invalid or incomplete are in a
// tool-input-error: the client finds the call, because its step does not finish before.
// Without it, some clients drop the call at an abort.
func (a *aiSDK) fail(c *aiCall, text string, m *aiToolMetadata) {
	a.remove(c, m.Streamer.Reason)
	if !c.complete {
		a.send(aiChunk{Type: "tool-input-error", ToolCallID: c.id, ToolName: c.name, Input: c.input(), ErrorText: text, ProviderExecuted: c.provider, ToolMetadata: m})
		return
	}
	a.send(aiChunk{Type: "tool-output-error", ToolCallID: c.id, ErrorText: text, ToolMetadata: m})
}

// input returns the input of a call without complete args: invalid args as they are, and
// those that were cut with the end that makes them JSON.
func (c *aiCall) input() json.RawMessage {
	var cut jsonscan.Scanner
	switch {
	case c.invalid != "":
		return events.Quote(c.invalid)
	case cut.Write(string(c.text)) == jsonscan.Bad:
		return events.Quote(string(c.text))
	case len(c.text) == 0:
		return json.RawMessage("{}")
	}
	return cut.AppendEnd(c.text)
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
