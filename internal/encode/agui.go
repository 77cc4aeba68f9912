package encode

import (
	"encoding/json"

	"streamer/internal/events"
)

// agUI encodes a turn as one run of AG-UI 1.0 (https://docs.ag-ui.com/concepts/events).
//
// The client appends: args, texts and results that arrive twice are shown twice. It
// checks the order of starts and ends within a run, and accepts a result without an
// end of the args, args that are not JSON, and a run without an end. So this encoder
// keeps the following rules. A call has one TOOL_CALL_START, then args that are JSON
// as a whole, one TOOL_CALL_END, and at most one TOOL_CALL_RESULT after it. Before
// the end of the run each call has its end, and its result unless a client or a
// person is still to answer it. A subagent has one start, and one end before that of
// the run; what begins in it is tagged with its id. All ids are functions of the event log, so a client
// that sends its history gets it back without what the stream repeats.
type agUI struct {
	output
	at          events.Time
	deltas      deltas
	session     string
	thread, run string // their ids in the stream
	last        string // the run whose end is the end of the stream; "" means the first
	client      *Client
	first       events.ID // of the first event of the stream
	started     bool      // an event was read
	runStarted  bool
	done        bool
	held        heldEnd
	asked       bool         // the run whose end is held had asked a person
	calls       []*agCall    // the open ones, in the order of their starts
	messages    []*agMessage // the open ones
	parts       []textPart   // the open ones
	question    *agHuman     // the one that is open
	known       knownTexts
	echoed      map[string]string // subagents of the messages that the client sent and the stream repeats
	stored      map[string]bool   // ids of messages of the turn, see Opening
	ids         messageIDs
	subagents   []*agSubagent
	callIDs
}

// agEvent is one event of the stream. The fields that a type does not have are empty.
type agEvent struct {
	Type            string             `json:"type"`
	Timestamp       int64              `json:"timestamp,omitempty"`
	ThreadID        string             `json:"threadId,omitempty"`
	RunID           string             `json:"runId,omitempty"`
	MessageID       string             `json:"messageId,omitempty"`
	ToolCallID      string             `json:"toolCallId,omitempty"`
	ToolCallName    string             `json:"toolCallName,omitempty"`
	ParentMessageID string             `json:"parentMessageId,omitempty"`
	Role            string             `json:"role,omitempty"`
	Content         *string            `json:"content,omitempty"`
	Messages        *[]json.RawMessage `json:"messages,omitempty"`
	Name            string             `json:"name,omitempty"`
	Value           any                `json:"value,omitempty"`
	Outcome         any                `json:"outcome,omitempty"`
	Message         string             `json:"message,omitempty"`
	Code            string             `json:"code,omitempty"`
	Metadata        *agMetadata        `json:"metadata,omitempty"`

	SubagentRunID       string `json:"subagentRunId,omitempty"` // absent at the root
	ParentSubagentRunID string `json:"parentSubagentRunId,omitempty"`
	ParentToolCallID    string `json:"parentToolCallId,omitempty"`
}

type agMetadata struct {
	Streamer any `json:"streamer"`
}

func (a *agUI) send(e agEvent) {
	e.Timestamp = int64(a.at)
	a.dst = dataFrame(a.dst, e)
}

func (a *agUI) sendDelta(kind, idName, id, text string) {
	a.dst = deltaFrame(a.dst, kind, a.at, idName, id, "delta", text)
}

// Open appends a comment, so that the client gets the headers at once.
func (a *agUI) Open(dst []byte, o Opening) []byte {
	a.session, a.last, a.client = o.Session, o.Run, o.Client
	a.stored, a.ids.earlier = o.Stored, o.Earlier
	return append(dst, ": stream-open\n\n"...)
}

func (a *agUI) Event(dst []byte, r events.Record, e *events.Event) []byte {
	if !a.started {
		a.started, a.first = true, r.ID
	}
	if a.done || !isShown(r.Type) || !a.runStarted && r.Type != events.RunStarted && r.Type != events.HumanMessage {
		return dst
	}
	a.dst, a.at = dst, e.Timestamp
	if a.endsHuman(e) {
		a.endHuman()
	}
	if a.held.passes(r.Type) {
		dispatch(a, e)
	}
	if a.held.over(r.Type, len(a.calls)) {
		a.finish(a.held.end)
	}
	if a.deltas.due() {
		a.deltas.takeAll(a.sendText)
	}
	return a.take()
}

// Live appends the texts of the history that are held. Later deltas are not held.
func (a *agUI) Live(dst []byte, _ uint64) []byte {
	a.deltas.live = true
	a.dst = dst
	a.deltas.takeAll(a.sendText)
	if a.held.end != nil && !a.done {
		a.finish(a.held.end)
	}
	return a.take()
}

func (a *agUI) Heartbeat(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

// End appends an error that names the reason. Without it, the client takes the end of
// the body for the end of a run that never ended, and a connection that is cut off
// ends a process of Node.
func (a *agUI) End(dst []byte, reason Ending) []byte {
	return dataFrame(dst, agEvent{Type: "RUN_ERROR", Message: "The server ended the stream, not the run. Connect again.", Code: "stream_" + string(reason)})
}

func (a *agUI) Done() bool { return a.done }

func (a *agUI) sendText(s source, text string) {
	if s.call == "" {
		a.sendContent(s, text)
	} else if c := findCall(a.calls, s.call); c != nil {
		a.sendArgs(c, text)
	}
}
