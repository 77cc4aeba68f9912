package encode

import (
	"cmp"
	"encoding/json"
	"slices"

	"streamer/internal/events"
)

// aiHeader has the headers of the SDK besides those of every event stream.
var aiHeader = [][2]string{{"Connection", "keep-alive"}, {"X-Vercel-Ai-Ui-Message-Stream", "v1"}}

// aiSDK encodes a turn as one message of the Vercel AI SDK (package ai, UI message
// stream v1, https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol).
//
// The reducer of the client accepts more than it shows correctly. It shows a call in
// its last state whatever came before, never ends a call by itself, and makes a
// second part for a call whose input continues in another step. So this encoder
// keeps the following rules. A call has one tool-input-start, then deltas, then at
// most one tool-input-available, then exactly one end, and nothing after it; before
// the end of the stream, each open call gets its end, unless a client or a person is
// still to answer it. All calls are static: no chunk has dynamic. A step does not
// finish before the input of its calls.
type aiSDK struct {
	output
	deltas  deltas
	last    string // the run whose end is the end of the stream; "" means the first
	started bool
	message string // id of the message
	begun   bool   // its start was sent
	done    bool
	held    heldEnd
	step    aiStep
	steps   int        // number of steps that began, with those that were reset
	calls   []*aiCall  // the open ones, in the order of their starts
	parts   []textPart // the open ones
	nextID  int        // of a content part
	callIDs
	ids     messageIDs
	prompts []events.Place // of the open messages for the model
	reason  string         // the last finish reason of the model
}

// aiChunk is one chunk of the stream. The fields that a type does not have are empty.
type aiChunk struct {
	Type             string          `json:"type"`
	MessageID        string          `json:"messageId,omitempty"`
	ID               string          `json:"id,omitempty"`
	ToolCallID       string          `json:"toolCallId,omitempty"`
	ToolName         string          `json:"toolName,omitempty"`
	ApprovalID       string          `json:"approvalId,omitempty"`
	Approved         *bool           `json:"approved,omitempty"`
	Input            json.RawMessage `json:"input,omitempty"`
	Output           json.RawMessage `json:"output,omitempty"`
	ErrorText        string          `json:"errorText,omitempty"`
	ProviderExecuted bool            `json:"providerExecuted,omitempty"`
	ToolMetadata     *aiToolMetadata `json:"toolMetadata,omitempty"`
	ProviderMetadata any             `json:"providerMetadata,omitempty"`
	FinishReason     string          `json:"finishReason,omitempty"`
	Reason           string          `json:"reason,omitempty"`
	Data             any             `json:"data,omitempty"`
}

// send appends a chunk, after the start of the message.
func (a *aiSDK) send(c aiChunk) {
	if !a.begun {
		a.begun = true
		a.dst = dataFrame(a.dst, aiChunk{Type: "start", MessageID: a.message})
	}
	a.dst = dataFrame(a.dst, c)
}

// Open appends a comment, so that the client gets the headers at once.
func (a *aiSDK) Open(dst []byte, o Opening) []byte {
	a.last, a.ids.earlier = o.Run, o.Earlier
	return append(dst, ": stream-open\n\n"...)
}

func (a *aiSDK) Event(dst []byte, r events.Record, e *events.Event) []byte {
	if a.done || !isShown(r.Type) || !a.started && r.Type != events.RunStarted {
		return dst
	}
	a.dst = dst
	if a.held.passes(r.Type) {
		dispatch(a, e)
	}
	if a.held.over(r.Type, len(a.calls)) {
		a.endMessageStream(a.held.end)
	}
	if a.deltas.due() {
		a.deltas.takeAll(a.sendText)
	}
	return a.take()
}

// Live appends the texts of the history that are held. Later deltas are not held.
func (a *aiSDK) Live(dst []byte, _ uint64) []byte {
	a.deltas.live = true
	a.dst = dst
	a.deltas.takeAll(a.sendText)
	if a.held.end != nil && !a.done {
		a.endMessageStream(a.held.end)
	}
	return a.take()
}

func (a *aiSDK) Heartbeat(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

func (a *aiSDK) Done() bool { return a.done }

func (a *aiSDK) sendText(s source, text string) {
	if s.call == "" {
		a.sendContent(s, text)
	} else if c := findCall(a.calls, s.call); c != nil {
		a.sendArgs(c, text)
	}
}

// startRun begins the message. Its id is that of the first message of the turn, or of the
// first run if that has none, so that a client that replays the turn replaces the message.
// A run that continues the turn continues the message.
func (a *aiSDK) startRun(e *events.Event) {
	if a.started {
		return
	}
	a.started, a.message = true, e.Run
}

// endRun ends what the run has left open, and the message if the run is the last of
// the turn.
func (a *aiSDK) endRun(e *events.Event) {
	a.endParts()
	for _, c := range slices.Clone(a.calls) {
		if text, data, ends := c.endWith(e, c.complete); ends {
			a.fail(c, text, &aiToolMetadata{data})
		}
	}
	a.finishStep()
	if isLast(e, a.last) && !a.held.hold(e, len(a.calls), a.deltas.live) {
		a.endMessageStream(e)
	}
}

// endMessageStream appends the end of the stream. The client does not keep the reason
// of an abort, and a finish has none, so a data part has it. A run that failed ends
// with finish: a client rejects the stream at a chunk error.
func (a *aiSDK) endMessageStream(e *events.Event) {
	if e.Status != events.Completed {
		run := cmp.Or(e.Run, a.last)
		a.send(aiChunk{Type: "data-streamer-run", ID: run, Data: aiRunData{Run: run, Status: e.Status, Reason: e.Reason}})
	}
	switch {
	case e.Status == events.Cancelled:
		a.send(aiChunk{Type: "abort", Reason: reasonText(e.Reason, "The run was cancelled.")})
	case e.Status == events.Error:
		a.send(aiChunk{Type: "finish", FinishReason: "error"})
	case len(a.calls) > 0:
		a.send(aiChunk{Type: "finish", FinishReason: "tool-calls"})
	default:
		a.send(aiChunk{Type: "finish", FinishReason: aiFinishReason(a.reason)})
	}
	a.dst = append(a.dst, "data: [DONE]\n\n"...)
	a.done = true
}

type aiRunData struct {
	Run    string         `json:"run"`
	Status events.Status  `json:"status"`
	Reason *events.Reason `json:"reason,omitempty"`
}
