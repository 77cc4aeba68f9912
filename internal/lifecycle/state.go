// Package lifecycle is the state machine of tool calls, messages and runs. It
// takes what a model and its tools say, in order, and appends the events that
// follow.
//
// It promises that each call that starts gets exactly one tool_call_result,
// that the events of a call come in the order start, deltas, complete, result,
// and that the same inputs on the same state give the same events: it reads no
// clock, and deadlines are values somebody else watches.
package lifecycle

import (
	"streamer/internal/chunks"
	"streamer/internal/events"
)

// State is what the state machine knows of one session. It is a value: saved
// as JSON and loaded again it goes on exactly where it was (call Resume after
// loading). The zero value is a session nothing is known of.
type State struct {
	Time events.Time `json:"time,omitempty"` // fold time: never goes back
	Last events.Time `json:"last,omitempty"` // of the last input that was not the clock's
	Run  *Run        `json:"run,omitempty"`  // the one that is going on
	// LastRun is the id of the newest run, going on or not.
	LastRun string `json:"last_run,omitempty"`
	// Messages are those that are open or whose calls are, oldest first.
	Messages []*Message `json:"messages,omitempty"`
	Memory   Memory     `json:"memory,omitzero"`
}

// Run is a run that is going on.
type Run struct {
	ID   string `json:"id"`
	Wire bool   `json:"wire,omitempty"` // the id is the wire's
	// Asked is the answer that left last after it had asked for calls: the run
	// goes on for it, whatever the other choices of its message say.
	Asked *Answer `json:"asked,omitempty"`
}

// Answer names a choice of a message.
type Answer struct {
	Namespace string `json:"ns,omitempty"`
	Message   string `json:"id,omitempty"`
	Choice    int    `json:"choice,omitempty"`
}

// Message is one AI message and choice. What each delta asks for stands first
// and together: where there are many sessions, what is far apart in memory is
// what takes the time.
type Message struct {
	Namespace string `json:"ns,omitempty"`
	ID        string `json:"id,omitempty"`
	Choice    int    `json:"choice,omitempty"`
	// Phase: what the wire said of its end.
	Phase Phase          `json:"phase,omitempty"`
	Calls []*Call        `json:"calls,omitempty"` // beside Asm.Calls, same positions
	Asm   chunks.Message `json:"asm,omitzero"`
	Run   string         `json:"run"`
	place *events.Place  // shared by the events of the message, and never changed; nil before the first

	Parts  Parts  `json:"parts,omitzero"`
	Role   string `json:"role,omitempty"`
	Shape  string `json:"shape,omitempty"`  // of the history its tool results belong to
	Reason string `json:"reason,omitempty"` // the finish reason
	Usage  []byte `json:"usage,omitempty"`  // JSON, kept as Content is
	// Truncated: the provider said that the model was cut off.
	Truncated bool `json:"truncated,omitempty"`
	// Superseded: it was broken off, and its end is not the run's.
	Superseded bool `json:"superseded,omitempty"`
}

// Phase is how far a message is.
type Phase uint8

// The phases: text and calls come; the finish reason has come, usage may
// follow; message_finished has been told.
const (
	Building Phase = iota
	Finishing
	Finished
)

// Call is what is known of a call besides what the model said of it. There may
// be many: its small fields stand together, to take no more room than they need.
type Call struct {
	Call     string        `json:"call"`
	Status   events.Status `json:"status"`
	ID       string        `json:"id,omitempty"`       // once started: the provider's or synthesised
	Begun    events.Time   `json:"begun"`              // its first fragment
	Expires  events.Time   `json:"expires,omitempty"`  // by the rules in force when it began
	Complete events.Time   `json:"complete,omitempty"` // when its args were
	Deadline events.Time   `json:"deadline,omitempty"`
	Sent     int           `json:"sent,omitempty"` // bytes of args told
	SentAt   events.Time   `json:"sent_at,omitempty"`
	Result   *Result       `json:"result,omitempty"` // waits for the args
	Args     uint64        `json:"args,omitempty"`   // the fingerprint of its complete args
	*Rare                  // nil for most
	Synth    bool          `json:"synth,omitempty"`
	Usable   bool          `json:"usable,omitempty"` // the complete args are valid
	Started  bool          `json:"started,omitempty"`
	Over     bool          `json:"over,omitempty"` // its args went over a limit, which was told
}

// Rare is what few calls have.
type Rare struct {
	UID  string `json:"uid,omitempty"`  // "" for one that is the ID
	Wait string `json:"wait,omitempty"` // interrupt id it waits for
}

// UID gives the name of a call that is its own in the session.
func (c *Call) UID() string {
	if c.Rare == nil || c.Rare.UID == "" {
		return c.ID
	}
	return c.Rare.UID
}

func (c *Call) wait() string {
	if c.Rare == nil {
		return ""
	}
	return c.Wait
}

func (c *Call) rare() *Rare {
	if c.Rare == nil {
		c.Rare = new(Rare)
	}
	return c.Rare
}

// Result is a tool result as it came.
type Result struct {
	ID        string        `json:"id,omitempty"`
	Name      string        `json:"name,omitempty"`
	Namespace string        `json:"ns,omitempty"`
	Status    events.Status `json:"status"`
	// Content is JSON. It is no RawMessage, since that is saved with other
	// escapes than it came with, and a deep one not at all.
	Content []byte `json:"content"`
	// Others are results that were told while this one waited for the args.
	Others Digests `json:"others,omitempty"`

	repeated bool // it comes out of a repeated history
}

// Resume makes a State that was loaded ready to go on.
func (s *State) Resume() {
	for _, m := range s.Messages {
		for i := range m.Asm.Calls {
			m.Asm.Calls[i].Resume()
		}
	}
	s.Memory.resume()
}

// Open tells how many calls are open.
func (s *State) Open() int {
	n := 0
	for _, m := range s.Messages {
		n += m.open()
	}
	return n
}

// Idle tells whether nothing is open: no call, message or run.
func (s *State) Idle() bool { return s.Run == nil && len(s.Messages) == 0 }

func (m *Message) open() int {
	n := 0
	for _, c := range m.Calls {
		if !c.Status.Terminal() {
			n++
		}
	}
	return n
}
