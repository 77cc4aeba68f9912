package lifecycle

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Call is a call: its args as the model wrote them, and its lifecycle.
type Call = chunks.Call[CallState]

// CallState is the lifecycle of a call. A session can have many calls, so the
// small fields stand together to save memory. Only the methods in this file
// change Status.
type CallState struct {
	Call     string // its name in events, unique in the session
	Status   events.Status
	ID       string      // since the start: the provider's or synthesised
	BeganAt  events.Time // of the first fragment
	Expires  events.Time // by the rules in force when it began
	Complete events.Time // when its args were
	Deadline events.Time // 0 where there is none
	Sent     int         // bytes of args that were emitted
	SentAt   events.Time
	Result   *Result // waits for the args
	Args     uint64  // the fingerprint of the complete args
	*Rare            // nil for most calls
	Synth    bool    // ID is synthesised
	Usable   bool    // the complete args are valid
	Started  bool
	Reported bool // a refused fragment of it was reported
	// Restated: its args ended, and are blank or no JSON. A whole statement of the call may
	// replace them.
	Restated chunks.Restating
	// Old: the call was open before its run began, and nothing came of it since.
	// When its tool began, if it did, is unknown.
	Old bool
}

// Rare holds the fields that few calls have.
type Rare struct {
	UID         string // "" where it is the ID
	InterruptID string // of the wait of an awaiting call
}

func newCall(call string, now, expires events.Time) CallState {
	return CallState{Call: call, Status: events.BuildingArgs, BeganAt: now, Expires: expires}
}

func (c *CallState) start(id string, synthesized, used bool) {
	c.Started, c.ID, c.Synth = true, id, synthesized
	if used {
		c.rare().UID = id + "~" + c.Call
	}
}

func (c *CallState) completeArgs(now events.Time, args *chunks.Args) {
	c.Status, c.Complete = events.ArgsComplete, now
	c.Usable, c.Args = args.Valid, fingerprint(args.JSON)
}

// restate records that a whole statement of the call may follow the end of its args.
func (c *CallState) restate(r chunks.Restating) { c.Restated = max(c.Restated, r) }

func (c *CallState) awaitsWhole() bool {
	return c.Restated == chunks.RestatedSoon && c.Status == events.BuildingArgs
}

func (c *CallState) await(interruptID string) {
	c.Status = events.AwaitingInput
	c.rare().InterruptID = interruptID
}

func (c *CallState) resume() {
	c.Status, c.Old = events.ArgsComplete, false
	c.rare().InterruptID = ""
}

func (c *CallState) hold(r *Result) { c.Result = r }

func (c *CallState) end(status events.Status) {
	c.Status, c.Deadline, c.Result = status, 0, nil
}

func (c *CallState) setDeadline(now events.Time, r *Rules, name string) {
	if c.Old && c.Status != events.AwaitingInput {
		c.Deadline = c.Expires
		return
	}
	switch c.Status {
	case events.BuildingArgs:
		c.Deadline = min(c.Expires, now+events.Time(r.tool(name).ArgsTimeout))
	case events.ArgsComplete:
		c.Deadline = min(c.Expires, now+events.Time(r.tool(name).ResultTimeout))
	case events.AwaitingInput:
		c.Deadline = c.Expires
		if r.WaitTimeout > 0 {
			c.Deadline = min(c.Expires, now+events.Time(r.WaitTimeout))
		}
	}
}

// waits reports whether no tool is known to run the call: it waits for a person, or is
// old.
func (c *CallState) waits() bool { return c.Status == events.AwaitingInput || c.Old }

func (c *CallState) alive() { c.Old = false }

// UID returns the id of a call that is unique in the session.
func (c *CallState) UID() string {
	if c.Rare == nil || c.Rare.UID == "" {
		return c.ID
	}
	return c.Rare.UID
}

func (c *CallState) interruptID() string {
	if c.Rare == nil {
		return ""
	}
	return c.InterruptID
}

func (c *CallState) rare() *Rare {
	if c.Rare == nil {
		c.Rare = new(Rare)
	}
	return c.Rare
}

func holdsArgs(c *Call, r *Rules) bool {
	return c.State.Status == events.BuildingArgs && c.State.Started && r.Deltas != Off &&
		len(c.Text) > c.State.Sent && !c.Object && !c.Placeholder() && !c.Hold
}

// plainKind is the kind of most calls in events.
const plainKind = "function"

func kind(c *Call) string { return cmp.Or(c.Kind(), plainKind) }

// at returns an optional time of an event: nil for 0.
func at(t events.Time) *events.Time {
	if t == 0 {
		return nil
	}
	return &t
}
