package claudecode

import (
	"slices"

	"streamer/internal/decode/anthropic"
	"streamer/internal/decode/wire"
	"streamer/internal/stored"
)

// Decoder decodes the lines of a session. Its fields are the state between lines.
type Decoder struct {
	Running bool // a turn is open
	Aborted bool // the turn was interrupted
	Qwen    bool // the program is Qwen Code, whose assistant lines may have other ids than the stream
	Root    Agent
	Below   []Agent // subagents, oldest first
	Open    []Call  // calls without a result, oldest first
}

// Fields visits the members of the stored form.
func (d *Decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Running)
	f.Flag("a", &d.Aborted)
	f.Flag("q", &d.Qwen)
	stored.Object(f, "m", &d.Root, (*Agent).fields)
	stored.List(f, "s", &d.Below, (*Agent).fields)
	stored.List(f, "o", &d.Open, (*Call).fields)
}

// Agent is the newest message of an agent.
type Agent struct {
	Parent string // the call that started the agent, "" of the root
	Phase  Phase
	Blocks anthropic.Decoder // of a streamed message; its field Message is the id of any
	Parts  int               // content parts of a message that is not streamed
	Reason string            // its stop reason
}

func (a *Agent) fields(f *stored.Fields) {
	f.Text("p", &a.Parent)
	stored.Number(f, "h", &a.Phase)
	stored.Object(f, "b", &a.Blocks, (*anthropic.Decoder).Fields)
	stored.Number(f, "n", &a.Parts)
	f.Text("f", &a.Reason)
}

// Phase is the state of the newest message of an agent.
type Phase uint8

// The phases.
const (
	NoMessage Phase = iota
	Whole           // it comes in assistant lines alone
	Streaming       // it comes in stream events
	Stopped         // message_stop came
)

// Call is a call without a result.
type Call struct {
	ID   string
	Name string
	Ask  string // the request of the approval that it waits for
	Task string // the task that it started, where that is no subagent
	// Background: it goes on after its tool_result, until its task ends.
	Background bool
	// Status and Text are its result as other lines than a tool_result state it.
	Status, Text string
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.ID)
	f.Text("n", &c.Name)
	f.Text("a", &c.Ask)
	f.Text("t", &c.Task)
	f.Flag("b", &c.Background)
	f.Text("s", &c.Status)
	f.Text("x", &c.Text)
}

const (
	maxBelow = 64
	maxOpen  = 256
)

func (d *Decoder) known(parent string) *Agent {
	if parent == "" {
		return &d.Root
	}
	for i := len(d.Below) - 1; i >= 0; i-- {
		if d.Below[i].Parent == parent {
			return &d.Below[i]
		}
	}
	return nil
}

// agent returns the agent that a call started. The pointer is valid until the next
// agent is added.
func (d *Decoder) agent(parent string) *Agent {
	if a := d.known(parent); a != nil {
		return a
	}
	d.Below = append(wire.MakeRoom(d.Below, maxBelow), Agent{Parent: wire.Keep(parent)})
	return &d.Below[len(d.Below)-1]
}

// streams reports whether the newest message of the agent comes in stream events.
// The events of a message whose beginning is missing are not used, because its
// assistant lines repeat them.
func (a *Agent) streams() bool { return a != nil && a.Phase >= Streaming }

// call returns the newest open call that matches, or nil. The pointer is valid until the
// next call.
func (d *Decoder) call(match func(c *Call) bool) *Call {
	for i := len(d.Open) - 1; i >= 0; i-- {
		if match(&d.Open[i]) {
			return &d.Open[i]
		}
	}
	return nil
}

func (d *Decoder) find(id string) *Call {
	return d.call(func(c *Call) bool { return c.ID == wire.Keep(id) })
}

// closeCall records that a call has its result, which ends the agent that the call
// started.
func (d *Decoder) closeCall(w *wire.Writer, id string) {
	d.Open = slices.DeleteFunc(d.Open, func(c Call) bool { return c.ID == id })
	i := slices.IndexFunc(d.Below, func(a Agent) bool { return a.Parent == id })
	if i >= 0 {
		d.endMessage(w, &d.Below[i])
		d.Below = slices.Delete(d.Below, i, i+1)
	}
}
