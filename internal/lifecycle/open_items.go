package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// OpenItems are the open items of a session as its event log shows them. Add takes
// the events of the log in order. The zero value is that of an empty log.
type OpenItems struct {
	Time     events.Time // of the newest event
	Run      string      // the open run, "" where there is none
	LastRun  string      // the newest run, open or not
	Messages []OpenMessage
}

// OpenMessage is a message that is not finished or has an open call.
type OpenMessage struct {
	events.Place
	Run string
	// Building: message_started was emitted, and message_finished was not.
	Building bool
	Calls    []OpenCall // in the order of their starts
}

// OpenCall is a call without a tool_call_result.
type OpenCall struct {
	Start    events.Event  // its tool_call_start
	Complete *events.Event // its tool_call_args_complete, nil where there is none
	Text     []byte        // its args so far, until they are complete
}

// Empty reports whether nothing is open.
func (o *OpenItems) Empty() bool { return o.Run == "" && len(o.Messages) == 0 }

// Calls returns the open calls, message by message.
func (o *OpenItems) Calls() []OpenCall {
	var calls []OpenCall
	for i := range o.Messages {
		calls = append(calls, o.Messages[i].Calls...)
	}
	return calls
}

// Building returns the messages that are not finished.
func (o *OpenItems) Building() []OpenMessage {
	return slices.DeleteFunc(slices.Clone(o.Messages), func(m OpenMessage) bool { return !m.Building })
}

// AddStored applies the next event of the log as it is stored.
func (o *OpenItems) AddStored(stored events.Record) error {
	if stored.Type == events.Synthetic {
		return nil
	}
	var e events.Event
	if err := json.Unmarshal(stored.Data, &e); err != nil {
		return fmt.Errorf("lifecycle: event %d: %w", stored.Seq, err)
	}
	o.Add(&e)
	return nil
}

// Add applies the next event of the log.
func (o *OpenItems) Add(e *events.Event) {
	o.Time = max(o.Time, e.Timestamp)
	switch e.Type {
	case events.SessionErased: // what is before it may be there in part
		*o = OpenItems{Time: o.Time}
	case events.RunStarted:
		o.Run, o.LastRun = e.Run, e.Run
	case events.RunFinished:
		o.runFinished(e.Run)
	case events.MessageStarted:
		o.Messages = append(o.Messages, OpenMessage{Place: place(e), Run: e.Run, Building: true})
	case events.MessageFinished:
		if m := o.message(e); m != nil {
			m.Building = false
			o.dropClosed()
		}
	case events.ToolCallStart:
		m := o.message(e)
		if m == nil { // its message was renamed, or the log no longer has its start
			o.Messages = append(o.Messages, OpenMessage{Place: place(e), Run: e.Run})
			m = &o.Messages[len(o.Messages)-1]
		}
		m.Calls = append(m.Calls, OpenCall{Start: *e})
	default:
		o.addToCall(e)
	}
}

// runFinished applies the end of a run, which finishes all its messages. A message
// that was renamed while it was open is finished under another id, so only this
// event finishes it here.
func (o *OpenItems) runFinished(run string) {
	o.Run = ""
	for i := range o.Messages {
		if m := &o.Messages[i]; m.Run == run {
			m.Building = false
		}
	}
	o.dropClosed()
}

func (o *OpenItems) addToCall(e *events.Event) {
	m, i := o.call(e.Call)
	if m == nil {
		return
	}
	switch c := &m.Calls[i]; e.Type {
	case events.ToolCallArgsDelta:
		if at := e.Offset.Bytes(); at >= 0 && at <= len(c.Text) {
			c.Text = append(c.Text[:at], e.Args...)
		}
	case events.ToolCallArgsComplete:
		complete := *e
		c.Complete, c.Text = &complete, nil
	case events.ToolCallResult:
		m.Calls = slices.Delete(m.Calls, i, i+1)
		o.dropClosed()
	}
}

func (o *OpenItems) dropClosed() {
	o.Messages = slices.DeleteFunc(o.Messages, func(m OpenMessage) bool { return !m.Building && len(m.Calls) == 0 })
}

func (o *OpenItems) message(e *events.Event) *OpenMessage {
	for i := len(o.Messages) - 1; i >= 0; i-- {
		if m := &o.Messages[i]; m.Place == place(e) && m.Run == e.Run {
			return m
		}
	}
	return nil
}

func (o *OpenItems) call(call string) (*OpenMessage, int) {
	if call == "" {
		return nil, 0
	}
	for i := range o.Messages {
		m := &o.Messages[i]
		if k := slices.IndexFunc(m.Calls, func(c OpenCall) bool { return c.Start.Call == call }); k >= 0 {
			return m, k
		}
	}
	return nil, 0
}

func place(e *events.Event) events.Place {
	if e.Place == nil {
		return events.Place{}
	}
	return *e.Place
}

// restored returns the message in the form that the state machine closes. Its
// shape is that of shapes for one of its calls, or else the other one.
func (o *OpenMessage) restored(shapes map[string]string, other string) *Message {
	m := &Message{Namespace: o.Namespace, ID: o.MessageID, Choice: o.Choice, Run: o.Run, Shape: other}
	if !o.Building {
		m.finished(false)
	}
	for i := range o.Calls {
		c := &o.Calls[i]
		m.Calls = append(m.Calls, c.restored())
		if shape := shapes[c.Start.Call]; shape != "" {
			m.Shape = shape
		}
	}
	return m
}

func (o *OpenCall) restored() Call {
	e := &o.Start
	c := Call{
		Assembly: chunks.Assembly{Index: string(e.Index), Name: e.ToolName, Provider: e.ProviderExecuted, Text: o.Text},
		State:    newCall(e.Call, 0, 0),
	}
	if !e.IDSynthesized {
		c.ID = e.ID
	}
	if e.Kind != plainKind || e.ParentCall != "" {
		c.Rare = &chunks.Rare{ParentCall: e.ParentCall}
		if e.Kind != plainKind {
			c.Rare.Kind = e.Kind
		}
	}
	c.Resume()
	c.State.start(e.ID, e.IDSynthesized, e.UID != e.ID)
	c.State.Sent = len(c.Text) // the log has it
	if o.Complete != nil {
		valid := o.Complete.ArgsValid
		c.State.completeArgs(0, &chunks.Args{JSON: o.Complete.ToolArgs, Valid: valid != nil && *valid})
	}
	return c
}
