package inspect

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"streamer/internal/events"
)

// Call is the state of a call after some of its events.
type Call struct {
	Session  string        `json:"session"`
	Call     string        `json:"call"`
	ID       string        `json:"id,omitempty"` // the provider's
	Tool     string        `json:"tool,omitempty"`
	Status   events.Status `json:"status"`
	Reason   string        `json:"reason,omitempty"` // code of the reason of a synthetic result
	Progress string        `json:"progress,omitempty"`
	Late     bool          `json:"late,omitempty"` // its result came after it was closed

	Started  time.Time  `json:"started,omitzero"`
	Complete time.Time  `json:"args_complete,omitzero"`
	Awaiting time.Time  `json:"awaiting_input,omitzero"`
	Ended    time.Time  `json:"ended,omitzero"`
	Deadline *time.Time `json:"deadline,omitempty"`
}

// Open reports whether the call has no result.
func (c *Call) Open() bool { return !c.Status.Terminal() }

// Calls are the calls of sessions, in the order of their first events.
type Calls struct {
	list []*Call
	byID map[string]*Call
}

// List returns the calls.
func (cs *Calls) List() []*Call { return cs.list }

// Apply takes an event of the log. It returns the call that changed, nil if none did.
func (cs *Calls) Apply(e *events.Event) *Call {
	if e.Type == events.SessionErased {
		cs.list = slices.DeleteFunc(cs.list, func(c *Call) bool {
			if c.Session == e.Session {
				delete(cs.byID, c.Session+"\x00"+c.Call)
			}
			return c.Session == e.Session
		})
		return nil
	}
	if e.Call == "" || !strings.HasPrefix(string(e.Type), "tool_call_") {
		return nil
	}
	key := e.Session + "\x00" + e.Call
	c := cs.byID[key]
	if c == nil {
		c = &Call{Session: e.Session, Call: e.Call, Status: events.BuildingArgs}
		if cs.byID == nil {
			cs.byID = map[string]*Call{}
		}
		cs.byID[key] = c
		cs.list = append(cs.list, c)
	}
	c.apply(e)
	return c
}

// Forget removes a call, so that the memory of a long run stays bounded.
func (cs *Calls) Forget(c *Call) {
	delete(cs.byID, c.Session+"\x00"+c.Call)
	cs.list = slices.DeleteFunc(cs.list, func(o *Call) bool { return o == c })
}

func (c *Call) apply(e *events.Event) {
	at := e.Timestamp.Std()
	c.Tool, c.ID = cmp.Or(e.ToolName, c.Tool), cmp.Or(e.ID, c.ID)
	if e.Deadline != nil {
		deadline := e.Deadline.Std()
		c.Deadline = &deadline
	}
	switch e.Type {
	case events.ToolCallStart:
		c.Started = at
	case events.ToolCallArgsComplete:
		c.Status, c.Complete = events.ArgsComplete, at
	case events.ToolCallAwaiting:
		c.Status, c.Awaiting = events.AwaitingInput, at
	case events.ToolCallAnswered:
		c.Status = e.Status
	case events.ToolCallProgress:
		c.Progress = e.Progress
	case events.ToolCallResult:
		c.Status, c.Ended, c.Deadline = e.Status, at, nil
		if e.Reason != nil {
			c.Reason = string(e.Reason.Code)
		}
	case events.ToolCallLateResult:
		c.Late = true
	}
}

func (c *Call) phases(now time.Time) (args, waiting, running time.Duration) {
	if c.Started.IsZero() {
		return 0, 0, 0 // its start is not among the events
	}
	end := now
	if !c.Ended.IsZero() {
		end = c.Ended
	}
	complete := end
	if !c.Complete.IsZero() {
		complete = c.Complete
	}
	args = max(0, complete.Sub(c.Started))
	running = max(0, end.Sub(complete))
	if !c.Awaiting.IsZero() {
		waiting = max(0, end.Sub(c.Awaiting))
		running = max(0, running-waiting)
	}
	return args, waiting, running
}
