// Package events says what can happen to a tool call and how it is told:
// event types, their JSON, subjects, and the words users read.
//
// It promises that an Event marshals to the same bytes every time, and that
// unmarshalling what was marshalled gives the same Event. It knows nothing of
// order, NATS or time; those who emit events do.
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
	ToolCallStart        Type = "tool_call_start"
	ToolCallArgsDelta    Type = "tool_call_args_delta"
	ToolCallArgsComplete Type = "tool_call_args_complete"
	ToolCallAwaiting     Type = "tool_call_awaiting_input"
	ToolCallProgress     Type = "tool_call_progress"
	ToolCallResult       Type = "tool_call_result"
	ToolCallLateResult   Type = "tool_call_late_result"
	OrphanResult         Type = "orphan_result"
	Rejected             Type = "rejected"
	Unmatched            Type = "unmatched"

	// Synthetic is no event of the schema: it stands for the synthetic tool
	// result message that follows its tool_call_result on the subject
	// toolcalls.<session>.synthetic; its body is Event.Message alone.
	Synthetic Type = "synthetic"
)

// Types returns every type a stored message may have, Synthetic included.
func Types() []Type {
	return []Type{
		RunStarted, RunFinished, MessageStarted, MessageFinished, AgentResponseChunk, PartFinished,
		ToolCallStart, ToolCallArgsDelta, ToolCallArgsComplete, ToolCallAwaiting, ToolCallProgress, ToolCallResult,
		ToolCallLateResult, OrphanResult, Rejected, Unmatched, Synthetic,
	}
}

// Status is the state of a call, or how a run ended.
type Status string

// The states of a call (the first three are open, the others terminal) and,
// with Completed, Error and Cancelled, the ends of a run.
const (
	BuildingArgs  Status = "building_args"
	ArgsComplete  Status = "args_complete"
	AwaitingInput Status = "awaiting_input"
	Completed     Status = "completed"
	Error         Status = "error"
	Denied        Status = "denied"
	Cancelled     Status = "cancelled"
	TimedOut      Status = "timeout"
	// Interrupted is a run that stopped to wait for a person.
	Interrupted Status = "interrupted"
)

// ID is an event id: the sequence of the input that caused the event, and the
// place of the event among those the input caused. It is the same on every
// replay of the log. The zero ID is before every event.
type ID struct {
	Seq uint64
	N   int
}

// String gives the wire form "<seq>.<n>".
func (id ID) String() string { return string(id.append(make([]byte, 0, 24))) }

func (id ID) append(dst []byte) []byte {
	dst = append(strconv.AppendUint(dst, id.Seq, 10), '.')
	return strconv.AppendInt(dst, int64(id.N), 10)
}

// After tells whether id comes later in its session's log than other.
func (id ID) After(other ID) bool {
	return id.Seq > other.Seq || id.Seq == other.Seq && id.N > other.N
}

// ParseID reads the wire form of an ID, and no other spelling of it.
func ParseID(s string) (ID, error) {
	a, b, ok := strings.Cut(s, ".")
	seq, err := strconv.ParseUint(a, 10, 64)
	n, err2 := strconv.Atoi(b)
	id := ID{seq, n}
	if !ok || err != nil || err2 != nil || n < 0 || id.String() != s {
		return ID{}, fmt.Errorf("events: event id %q is not <sequence>.<n>", s)
	}
	return id, nil
}

// MarshalText gives the wire form.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the wire form.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}

// Event is one message of the event log. Fields that do not apply to a type
// are empty and left out of its JSON.
type Event struct {
	Type    Type   `json:"type"`
	EventID ID     `json:"event_id"`
	Session string `json:"session"`
	Run     string `json:"run,omitempty"`

	*Place // of events about a message or a call, else nil

	Index         json.RawMessage `json:"index,omitempty"` // of a call, as on the wire: a number or a string
	Call          string          `json:"call,omitempty"`  // "<input sequence>.<k>", unique in the session
	ID            string          `json:"id,omitempty"`    // the provider's, or synthesised
	IDSynthesized bool            `json:"id_synthesized,omitempty"`
	UID           string          `json:"uid,omitempty"` // ID, or ID~Call where the session had used ID before
	ToolName      string          `json:"tool_name,omitempty"`
	Kind          string          `json:"kind,omitempty"` // of a call: function, custom, mcp, server…; of content: text, reasoning; of a wait: why; of unmatched: progress, interrupt
	Timestamp     Time            `json:"timestamp"`      // fold time

	Role             string `json:"role,omitempty"`
	ParentCall       string `json:"parent_call,omitempty"`
	ProviderExecuted bool   `json:"provider_executed,omitempty"`
	Deadline         *Time  `json:"deadline,omitempty"`

	Part    int    `json:"part,omitempty"`    // counts the content parts of a message
	Offset  Offset `json:"offset,omitzero"`   // bytes of text before Content or Args; of a rejected input: where
	Content string `json:"content,omitempty"` // of agent_response_chunk
	Args    string `json:"args,omitempty"`    // of tool_call_args_delta

	ArgsText      *string         `json:"args_text,omitempty"` // raw, as the model wrote it
	ToolArgs      json.RawMessage `json:"tool_args,omitempty"` // parsed; absent where invalid
	ArgsValid     *bool           `json:"args_valid,omitempty"`
	ArgsError     string          `json:"args_error,omitempty"` // what is wrong with invalid args, and where
	DoubleEncoded bool            `json:"double_encoded,omitempty"`
	By            string          `json:"by,omitempty"` // what completed the args: call, message, next, result, idle
	ArgsRef       *Ref            `json:"args_ref,omitempty"`

	InterruptID string   `json:"interrupt_id,omitempty"`
	Progress    string   `json:"message,omitempty"`
	Percent     *float64 `json:"percent,omitempty"`

	Status        Status          `json:"status,omitempty"`
	Synthetic     bool            `json:"synthetic,omitempty"`
	Reason        *Reason         `json:"reason,omitempty"`
	ToolResult    json.RawMessage `json:"tool_result,omitempty"` // a string, or whatever JSON the tool gave
	ToolResultRef *Ref            `json:"tool_result_ref,omitempty"`
	Conflict      bool            `json:"conflict,omitempty"` // another real result stands before this one
	ArgsAnnounced *bool           `json:"args_complete,omitempty"`
	DurationMS    *int64          `json:"duration_ms,omitempty"` // start → terminal
	ArgsMS        *int64          `json:"args_ms,omitempty"`     // start → args complete
	RunMS         *int64          `json:"run_ms,omitempty"`      // args complete → terminal

	FinishReason string          `json:"finish_reason,omitempty"`
	Usage        json.RawMessage `json:"usage,omitempty"`
	Superseded   bool            `json:"superseded,omitempty"`
	Pending      []string        `json:"pending,omitempty"` // of run_finished: calls that stay open

	Target *Target `json:"target,omitempty"` // of unmatched
	Input  uint64  `json:"input,omitempty"`  // of rejected and unmatched: sequence of the input

	// Message is the synthetic tool result, ready to append to a history in
	// Shape; Text is the kind of sentence in it. Only Type Synthetic has them.
	Message json.RawMessage `json:"-"`
	Shape   string          `json:"-"`
	Text    Text            `json:"-"`
	// Blobs are the large values this event refers to; they are stored before
	// the event is.
	Blobs []Blob `json:"-"`
}

// Offset is a place in a text, in bytes. The zero Offset is none, and that of
// the first byte is not zero.
type Offset int

// OffsetAt gives the Offset behind n bytes.
func OffsetAt(n int) Offset { return Offset(n + 1) }

// Bytes gives the bytes in front of the place.
func (o Offset) Bytes() int { return int(o) - 1 }

// MarshalJSON writes the bytes in front of the place.
func (o Offset) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, int64(o.Bytes()), 10), nil
}

// UnmarshalJSON reads the bytes in front of the place.
func (o *Offset) UnmarshalJSON(b []byte) error {
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 0 {
		return fmt.Errorf("events: offset %s is no number of bytes", b)
	}
	*o = OffsetAt(n)
	return nil
}

// Place says which message an event is about.
type Place struct {
	MessageID string `json:"message_id"`
	Namespace string `json:"namespace"`
	Choice    int    `json:"choice"`
}

// Reason says in a code and in words why a call, run or input ended as it did.
type Reason struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
	// Detail is what whoever caused it said, as it came; at most 1 KiB of it.
	Detail string `json:"detail,omitempty"`
}

// Target is what an input named and what was not found open, in the fields of an
// interrupt.
type Target struct {
	ToolCallIDs []string `json:"tool_call_ids,omitempty"`
	Calls       []string `json:"calls,omitempty"`
	MessageID   string   `json:"message_id,omitempty"`
	Run         string   `json:"run,omitempty"`
	More        int      `json:"more,omitempty"` // calls that are left out of the lists
}

// Large makes a blob of a value and gives what stands for it.
func (e *Event) Large(value []byte) *Ref {
	b := NewBlob(value)
	e.Blobs = append(e.Blobs, b)
	return &b.Ref
}

// Terminal tells whether a call in this state is over.
func (s Status) Terminal() bool {
	switch s {
	case Completed, Error, Denied, Cancelled, TimedOut:
		return true
	}
	return false
}
