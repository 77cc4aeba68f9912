// Package lifecycle is the state machine of tool calls, messages and runs. It
// takes the statements of a model, of its tools and of clients in order, and
// appends the events that follow.
//
// It promises:
//   - Each call that starts has exactly one tool_call_result.
//   - The events of a call come in the order start, args deltas, args complete,
//     result. Progress and waiting come between start and result.
//   - The same inputs on the same state give the same events. The package reads
//     no clock: deadlines are values, and the caller sends a clock input when one
//     is due.
//   - A State that is stored after any input and loaded again continues in the
//     same way.
//   - No input stops a session. What exceeds a limit or cannot be used is
//     reported as rejected and changes nothing else.
package lifecycle

import (
	"iter"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// State is the state of one session. Fields describes its stored form. Resume must be
// called after loading. The zero value is the state of a new session.
type State struct {
	Time events.Time // fold time: never goes back
	Last events.Time // of the last input that was not a clock input
	// Stored is the stored time of the last input if that is before Time, else 0.
	Stored events.Time
	Run    *Run // the open run, nil where there is none
	// LastRun is the id of the newest run, open or not.
	LastRun string
	// Turn states whether the next snapshot has only history.
	Turn Turn
	// IDs is the number of synthesised ids, and First the sequence of the first
	// input; see synthesizedID.
	IDs   uint32
	First uint64
	// Messages are those that are open or have an open call, oldest first.
	Messages []*Message
	Memory   Memory
	// Human is the last human message that was emitted, whose text may go on; nil
	// where there is none.
	Human *Human
	// Stop is an interrupt that waits for the next run, nil if there is none.
	Stop *Stop
}

// Turn is the position in a run.
type Turn uint8

// The positions.
const (
	Unknown  Turn = iota // of a new session, or of a state that was stored without it
	AtStart              // a run began or ended on the wire, and nothing came since
	Listing              // a snapshot came
	UnderWay             // a message began
)

// Run is an open run.
type Run struct {
	ID string
	// Asked is the last finished choice that asked for calls. The run stays open
	// for it, even if the other choices of its message finish without a call.
	Asked *Answer
	// Failed states that the provider ended the newest message with an error, and
	// Detail is its text. Where no message follows, the run ends as failed.
	Detail string
	Failed bool
	// Explicit: the wire states the end of the run, so no finished message ends it.
	Explicit bool
	// Rests: the run would have ended with its last message if it were not Explicit.
	Rests bool
}

// Answer identifies a choice of a message.
type Answer struct {
	Namespace string
	Message   string
	Choice    int
}

// Message is one AI message and choice. The fields that each delta reads stand
// first and together: with many sessions in memory, cache misses dominate the
// time of a fold.
type Message struct {
	Namespace string
	ID        string
	Choice    int
	Phase     Phase
	// Assembler has the calls of the message.
	chunks.Assembler[CallState]

	Run   string
	place *events.Place // shared by the events of the message, and never changed; nil before the first

	Parts  Parts
	Role   string
	Shape  string // of the history its tool results belong to
	Reason string // the finish reason
	Usage  []byte // JSON, stored as Result.Content is
	// Alias is the other id under which the wire continues the message, "" if none.
	Alias string
	// Varies: the id of the message may change within it (chunks.Chunk.IDVaries).
	Varies bool
	// Renamed: Alias is the id of a role that came before all content. Content under it
	// is that of another message.
	Renamed bool
	// Truncated: the provider reported that the model was cut off.
	Truncated bool
	// Quiet: message_started was not emitted yet, because the id may still change.
	Quiet bool
	// Overtaken: another message of its choice began, and no content of this one came
	// since.
	Overtaken bool
	// Roles: the wire repeats the role in the middle of the message, so a role does
	// not begin another one.
	Roles bool
	// Next: a role came after the finish reason, so a call, and text where the wire
	// has no id, begins the next message.
	Next bool
	// Wait is the silence that ends the message while it is Finishing and content
	// may follow, in multiples of Rules.FlushAfter; else 0.
	Wait uint8
	// Superseded: the message was abandoned, so its end does not end the run.
	Superseded bool
	// Resumed: the message may have begun before, so a fragment without a name belongs to
	// a call that began here, or to none.
	Resumed bool
	// Nested: the message is of a subgraph, although its namespace has one segment.
	Nested bool
}

// Phase is the state of a message.
type Phase uint8

// The phases.
const (
	Building  Phase = iota // text and calls come
	Finishing              // the finish reason came; usage may follow, and content where Wait is not 0
	Finished               // message_finished was emitted
)

func (m *Message) finishing(reason string, truncated bool, wait uint8) {
	m.Phase, m.Reason, m.Truncated, m.Wait = Finishing, reason, truncated, wait
}

// resumed is the transition of a message whose content goes on after a finish
// reason back to Building.
func (m *Message) resumed() { m.Phase, m.Reason, m.Truncated, m.Wait = Building, "", false, 0 }

// failed records that the provider ended the message with an error, or stopped it.
func (m *Message) failed(stopped bool) {
	if m.Reason = "error"; stopped {
		m.Reason = "cancelled"
	}
}

// runEnded records that the run ended. Without a finish reason that does not
// prove that the model finished the message.
func (m *Message) runEnded() { m.Truncated = m.Truncated || m.Phase == Building }

func (m *Message) finished(superseded bool) {
	m.Phase, m.Superseded, m.Wait = Finished, superseded, 0
	for i := range m.Calls {
		if c := &m.Calls[i]; c.State.Status != events.BuildingArgs {
			c.Text = nil // the event log has it
		}
	}
}

// Result is a tool result.
type Result struct {
	ID        string
	Name      string
	Namespace string
	Status    events.Status
	// Content is JSON. It is stored as bytes, so that it comes back as it was.
	Content []byte
	// Others are results that were emitted while this one waited for the args.
	Others Digests
	// state is that of the tool of a closed call; see chunks.Result.
	state string

	repeated bool   // it is part of a repeated history
	index    string // raw, of its call, where the wire has no ids
}

// Resume restores what the stored form does not hold. It must be called after loading.
func (s *State) Resume() {
	for _, c := range s.calls() {
		c.Resume()
	}
	s.Memory.resume()
}

func (s *State) calls() iter.Seq2[*Message, *Call] {
	return func(yield func(*Message, *Call) bool) {
		for _, m := range s.Messages {
			for i := range m.Calls {
				if !yield(m, &m.Calls[i]) {
					return
				}
			}
		}
	}
}

// Open returns the number of open calls.
func (s *State) Open() int {
	n := 0
	for _, m := range s.Messages {
		n += m.open()
	}
	return n
}

// Idle reports whether the session has no open call, message or run.
func (s *State) Idle() bool { return s.Run == nil && len(s.Messages) == 0 }

func (m *Message) open() int {
	n := 0
	for i := range m.Calls {
		if !m.Calls[i].State.Status.Terminal() {
			n++
		}
	}
	return n
}

func (m *Message) any(match func(*Call) bool) bool {
	for i := range m.Calls {
		if match(&m.Calls[i]) {
			return true
		}
	}
	return false
}
