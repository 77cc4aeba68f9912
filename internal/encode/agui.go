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
// person is still to answer it. All ids are functions of the event log, so a client
// that sends its history gets it back without what the stream repeats.
type agUI struct {
	dst      []byte // while an event is encoded
	at       events.Time
	deltas   deltas
	session  string
	last     string // the run whose end is the end of the stream; "" means the first
	client   *Client
	first    events.ID // of the first event of the stream
	started  bool      // an event was read
	begun    bool
	done     bool
	calls    []*agCall    // the open ones, in the order of their starts
	messages []*agMessage // the open ones
	parts    []agPart     // the open ones
	known    knownTexts
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
	Delta           string             `json:"delta,omitempty"`
	Content         *string            `json:"content,omitempty"`
	Messages        *[]json.RawMessage `json:"messages,omitempty"`
	Name            string             `json:"name,omitempty"`
	Value           any                `json:"value,omitempty"`
	Outcome         *agOutcome         `json:"outcome,omitempty"`
	Message         string             `json:"message,omitempty"`
	Code            string             `json:"code,omitempty"`
	Metadata        *agMetadata        `json:"metadata,omitempty"`
}

// agMetadata is what the client keeps with a call or a message besides the fields of
// the protocol.
type agMetadata struct {
	Streamer any `json:"streamer"`
}

// send appends an event.
func (a *agUI) send(e agEvent) {
	e.Timestamp = int64(a.at)
	a.dst = dataFrame(a.dst, e)
}

// Open appends a comment, so that the client gets the headers at once.
func (a *agUI) Open(dst []byte, o Opening) []byte {
	a.session, a.last, a.client = o.Session, o.Run, o.Client
	return append(dst, ": stream-open\n\n"...)
}

// Event appends the events of an event of the log.
func (a *agUI) Event(dst []byte, r events.Record, e *events.Event) []byte {
	if !a.started {
		a.started, a.first = true, r.ID
	}
	if a.done || !aiShows(r.Type) || !a.begun && r.Type != events.RunStarted {
		return dst
	}
	a.dst, a.at = dst, e.Timestamp
	a.apply(e)
	if a.deltas.due() {
		a.sendHeld()
	}
	dst, a.dst = a.dst, nil
	return dst
}

func (a *agUI) apply(e *events.Event) {
	switch e.Type {
	case events.RunStarted:
		a.startRun(e)
	case events.RunFinished:
		a.endRun(e)
	case events.MessageStarted:
		a.startMessage(e)
	case events.MessageFinished:
		a.endMessage(e)
	case events.AgentResponseChunk:
		a.content(e)
	case events.PartFinished:
		a.endPart(e)
	case events.ToolCallStart:
		a.startCall(e)
	case events.ToolCallArgsDelta:
		a.args(e)
	case events.ToolCallArgsComplete:
		a.argsComplete(e)
	case events.ToolCallAwaiting:
		a.await(e)
	case events.ToolCallProgress:
		a.progress(e)
	case events.ToolCallResult:
		a.result(e)
	}
}

// Live appends the texts of the history that are held. Later deltas are not held.
func (a *agUI) Live(dst []byte, _ uint64) []byte {
	a.deltas.live = true
	a.dst = dst
	a.sendHeld()
	dst, a.dst = a.dst, nil
	return dst
}

// Heartbeat appends a comment.
func (a *agUI) Heartbeat(dst []byte) []byte { return append(dst, ": keep-alive\n\n"...) }

// End appends an error that names the reason. Without it, the client takes the end of
// the body for the end of a run that never ended, and a connection that is cut off
// ends a process of Node.
func (a *agUI) End(dst []byte, reason Ending) []byte {
	return dataFrame(dst, agEvent{Type: "RUN_ERROR", Message: "The server ended the stream, not the run. Connect again.", Code: "stream_" + string(reason)})
}

// Done reports whether the turn has ended.
func (a *agUI) Done() bool { return a.done }

// sendHeld appends a delta for each held text.
func (a *agUI) sendHeld() {
	for len(a.deltas.held) > 0 {
		s := a.deltas.first()
		if s.call != "" {
			if c := a.call(s.call); c != nil {
				a.sendArgs(c, a.deltas.take(s))
				continue
			}
		}
		a.sendContent(s, a.deltas.take(s))
	}
}
