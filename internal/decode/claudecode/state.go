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
	Root    Agent
	Below   []Agent // subagents, oldest first
	Open    []Call  // calls without a result, oldest first
}

// Fields visits the members of the stored form.
func (d *Decoder) Fields(f *stored.Fields) {
	f.Flag("r", &d.Running)
	f.Flag("a", &d.Aborted)
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
}

func (c *Call) fields(f *stored.Fields) {
	f.Text("i", &c.ID)
	f.Text("n", &c.Name)
}

const (
	maxBelow = 64
	maxOpen  = 256
)

func (d *Decoder) find(parent string) *Agent {
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
	if a := d.find(parent); a != nil {
		return a
	}
	d.Below = append(wire.MakeRoom(d.Below, maxBelow), Agent{Parent: wire.Keep(parent)})
	return &d.Below[len(d.Below)-1]
}

// streams reports whether the newest message of the agent comes in stream events.
// The events of a message whose beginning is missing are not used, because its
// assistant lines repeat them.
func (a *Agent) streams() bool { return a != nil && a.Phase >= Streaming }

func (d *Decoder) isOpen(id string) bool {
	return slices.ContainsFunc(d.Open, func(c Call) bool { return c.ID == id })
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

func (d *Decoder) newest(name string) string {
	for i := len(d.Open) - 1; i >= 0; i-- {
		if d.Open[i].Name == name {
			return d.Open[i].ID
		}
	}
	return ""
}
