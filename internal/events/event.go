// Package events defines what can happen to a tool call and how it is
// published: event types, stored records, their JSON, subjects, and the texts
// that users read.
//
// It promises that an Event marshals to the same bytes every time, and that
// unmarshalling these bytes returns an equal Event. It promises nothing about
// order and duplicates: the package that emits events does.
package events

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Type names an event; it is the last token of the event's subject.
type Type string

// The event types.
const (
	RunStarted           Type = "run_started"
	RunFinished          Type = "run_finished"
	MessageStarted       Type = "message_started"
	MessageFinished      Type = "message_finished"
	AgentResponseChunk   Type = "agent_response_chunk"
	PartFinished         Type = "part_finished"
	HumanMessage         Type = "human_message"
	ToolCallStart        Type = "tool_call_start"
	ToolCallArgsDelta    Type = "tool_call_args_delta"
	ToolCallArgsComplete Type = "tool_call_args_complete"
	ToolCallAwaiting     Type = "tool_call_awaiting_input"
	ToolCallAnswered     Type = "tool_call_answered"
	ToolCallProgress     Type = "tool_call_progress"
	ToolCallResult       Type = "tool_call_result"
	ToolCallLateResult   Type = "tool_call_late_result"
	ToolCallParent       Type = "tool_call_parent"
	OrphanResult         Type = "orphan_result"
	Rejected             Type = "rejected"
	Unmatched            Type = "unmatched"
	Interruption         Type = "interrupted"
	Resumption           Type = "resumed"
	SessionErased        Type = "session_erased"

	// Synthetic is not in the schema. It is the synthetic tool result message
	// that follows its tool_call_result on the subject
	// toolcalls.<session>.synthetic. Its body is Event.Message alone.
	Synthetic Type = "synthetic"
)

// Types returns every type that a stored message can have, including Synthetic.
func Types() []Type {
	return []Type{
		RunStarted, RunFinished, MessageStarted, MessageFinished, AgentResponseChunk, PartFinished, HumanMessage,
		ToolCallStart, ToolCallArgsDelta, ToolCallArgsComplete, ToolCallAwaiting, ToolCallAnswered, ToolCallProgress, ToolCallResult,
		ToolCallLateResult, ToolCallParent, OrphanResult, Rejected, Unmatched, Interruption, Resumption, SessionErased, Synthetic,
	}
}

// Status is the state of a call, or the outcome of a run.
type Status string

// The states of a call: the first three are open, the others are terminal.
// Completed, Error, Cancelled and Interrupted are the outcomes of a run.
const (
	BuildingArgs  Status = "building_args"
	ArgsComplete  Status = "args_complete"
	AwaitingInput Status = "awaiting_input"
	Completed     Status = "completed"
	Error         Status = "error"
	Denied        Status = "denied"
	Cancelled     Status = "cancelled"
	TimedOut      Status = "timeout"
	// Interrupted is the outcome of a run that waits for a person.
	Interrupted Status = "interrupted"
)

// ID is an event id: the sequence of the input that caused the event, and the
// position of the event among those that the input caused. It is the same on
// every fold of the log. The zero ID precedes every event.
type ID struct {
	Seq uint64
	N   int
}

// String returns the wire form "<seq>.<n>".
func (id ID) String() string { return string(id.Append(make([]byte, 0, 24))) }

// Append appends what String returns.
func (id ID) Append(dst []byte) []byte {
	dst = append(strconv.AppendUint(dst, id.Seq, 10), '.')
	return strconv.AppendInt(dst, int64(id.N), 10)
}

// After reports whether id is later in its session's event log than other.
func (id ID) After(other ID) bool {
	return id.Seq > other.Seq || id.Seq == other.Seq && id.N > other.N
}

// ParseID parses the wire form of an ID. It accepts no other spelling.
func ParseID(s string) (ID, error) {
	a, b, ok := strings.Cut(s, ".")
	seq, err := strconv.ParseUint(a, 10, 64)
	n, err2 := strconv.Atoi(b)
	id := ID{seq, n}
	if !ok || err != nil || err2 != nil || n < 0 || id.String() != s {
		return ID{}, fmt.Errorf("events: event id %q is not of the form <sequence>.<n>", s)
	}
	return id, nil
}

// MarshalText returns the wire form.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses the wire form.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}

// Event is one message of the event log. A field that does not apply to a type
// is empty and absent from its JSON.
type Event struct {
	Type    Type   `json:"type"`
	EventID ID     `json:"event_id"`
	Session string `json:"session"`
	Run     string `json:"run,omitempty"`

	*Place // of events about a message or a call; nil otherwise

	Index         json.RawMessage `json:"index,omitempty"` // of a call, as on the wire: a number or a string
	Call          string          `json:"call,omitempty"`  // "<input sequence>.<k>", unique in the session
	ID            string          `json:"id,omitempty"`    // the provider's, or synthesised
	IDSynthesized bool            `json:"id_synthesized,omitempty"`
	UID           string          `json:"uid,omitempty"` // ID, or ID~Call if the session used ID before
	ToolName      string          `json:"tool_name,omitempty"`
	Kind          string          `json:"kind,omitempty"` // of a call: function, custom, mcp, server…; of content: text, reasoning; of awaiting_input: what is awaited; of unmatched: the kind of the input
	Timestamp     Time            `json:"timestamp"`      // fold time

	Role             string `json:"role,omitempty"`
	ParentCall       string `json:"parent_call,omitempty"`
	ProviderExecuted bool   `json:"provider_executed,omitempty"`
	Deadline         *Time  `json:"deadline,omitempty"`

	Part    int    `json:"part,omitempty"`    // number of the content part in its message
	Offset  Offset `json:"offset,omitzero"`   // bytes of text before Content or Args; of a rejected input: position of the fault
	Content string `json:"content,omitempty"` // of agent_response_chunk and human_message
	Args    string `json:"args,omitempty"`    // of tool_call_args_delta

	ArgsText      *string         `json:"args_text,omitempty"` // raw, as the model wrote it
	ToolArgs      json.RawMessage `json:"tool_args,omitempty"` // parsed; absent if invalid
	ArgsValid     *bool           `json:"args_valid,omitempty"`
	ArgsError     string          `json:"args_error,omitempty"` // the fault of invalid args, and its position
	DoubleEncoded bool            `json:"double_encoded,omitempty"`
	By            string          `json:"by,omitempty"` // cause of completion: call, message, next, result, idle; of answered: the person; of resumed: the person or cause
	ArgsRef       *Ref            `json:"args_ref,omitempty"`

	InterruptID string          `json:"interrupt_id,omitempty"`
	Request     json.RawMessage `json:"request,omitempty"`  // what else the wire states of a question: an object
	Decision    string          `json:"decision,omitempty"` // of answered: approve, deny, edit, reply
	Value       json.RawMessage `json:"value,omitempty"`    // of answered: what the person said
	Progress    string          `json:"message,omitempty"`
	Percent     *float64        `json:"percent,omitempty"`

	Status        Status          `json:"status,omitempty"`
	Synthetic     bool            `json:"synthetic,omitempty"`
	Reason        *Reason         `json:"reason,omitempty"`
	ToolResult    json.RawMessage `json:"tool_result,omitempty"` // a string, or the JSON value of the tool
	ToolResultRef *Ref            `json:"tool_result_ref,omitempty"`
	Conflict      bool            `json:"conflict,omitempty"`   // another real result precedes this one
	ToolState     string          `json:"tool_state,omitempty"` // of late_result: state of the tool: stopped, finished_anyway, unknown
	ArgsAnnounced *bool           `json:"args_complete,omitempty"`
	DurationMS    *int64          `json:"duration_ms,omitempty"` // start → terminal
	ArgsMS        *int64          `json:"args_ms,omitempty"`     // start → args complete
	RunMS         *int64          `json:"run_ms,omitempty"`      // args complete → terminal

	FinishReason string          `json:"finish_reason,omitempty"`
	Usage        json.RawMessage `json:"usage,omitempty"`
	Superseded   bool            `json:"superseded,omitempty"`
	Pending      []string        `json:"pending,omitempty"` // of run_finished: calls that stay open

	Closed *int64   `json:"closed,omitempty"` // of interrupted: number of calls that the interrupt closed
	Calls  []string `json:"calls,omitempty"`  // of interrupted: the first of these calls
	Target *Target  `json:"target,omitempty"` // of unmatched: what was not open; of interrupted: what was named
	Input  uint64   `json:"input,omitempty"`  // of rejected, unmatched, answered, interrupted and resumed: sequence of the input

	Binding *Binding `json:"binding,omitempty"` // of interrupted: what became of what Input stopped

	// Message is the synthetic tool result, ready to append to a history of
	// Shape. Text is the kind of text in it. Only Type Synthetic has them.
	Message json.RawMessage `json:"-"`
	Shape   string          `json:"-"`
	Text    Text            `json:"-"`
	// Blobs are the large values that this event refers to. They are stored
	// before the event.
	Blobs []Blob `json:"-"`
}

// Offset is a position in a text, in bytes. The zero Offset means no position;
// the Offset of the first byte is not zero.
type Offset int

// OffsetAt returns the Offset after n bytes.
func OffsetAt(n int) Offset { return Offset(n + 1) }

// Bytes returns the number of bytes before the position.
func (o Offset) Bytes() int { return int(o) - 1 }

// MarshalJSON returns the number of bytes before the position.
func (o Offset) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(o.Bytes()), 10), nil
}

// UnmarshalJSON parses the number of bytes before the position.
func (o *Offset) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 0 {
		return fmt.Errorf("events: offset %s is not a number of bytes", b)
	}
	*o = OffsetAt(n)
	return nil
}

// Place identifies the message that an event is about.
type Place struct {
	MessageID string `json:"message_id"`
	Namespace string `json:"namespace"`
	Choice    int    `json:"choice"`
}

// Reason states why a call or run ended, or why an input was rejected.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
	// Detail is the text given by the cause, unchanged, at most 1 KiB of it.
	Detail string `json:"detail,omitempty"`
}

// Target lists items that an input named, in the fields of an interrupt.
type Target struct {
	ToolCallIDs []string `json:"tool_call_ids,omitempty"`
	Calls       []string `json:"calls,omitempty"`
	MessageID   string   `json:"message_id,omitempty"`
	Run         string   `json:"run,omitempty"`
	Namespace   string   `json:"namespace,omitempty"`
	InterruptID string   `json:"interrupt_id,omitempty"` // of an answer
	More        int      `json:"more,omitempty"`         // number of calls that are not in the lists
}

// Binding is what a tap has seen of what an interrupt stopped. A field that was not seen is
// absent.
type Binding struct {
	// CallsOut are the ids of the calls that the client had when the stop came, which it may
	// have executed.
	CallsOut []string `json:"calls_out,omitzero"`
	// RequestsAnswered is the number of requests that were answered since without the model.
	RequestsAnswered *int64 `json:"requests_answered,omitempty"`
	// Process is what became of the command: running or ended.
	Process string `json:"process,omitempty"`
}

// Large appends a blob with the value to Blobs and returns its reference.
func (e *Event) Large(value []byte) *Ref {
	b := NewBlob(value)
	e.Blobs = append(e.Blobs, b)
	return &b.Ref
}

// Terminal reports whether a call in this state has ended.
func (s Status) Terminal() bool {
	switch s {
	case Completed, Error, Denied, Cancelled, TimedOut:
		return true
	}
	return false
}
