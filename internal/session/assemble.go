package session

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"streamer/internal/chunks"
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
)

// Assembly folds a recorded stream offline: each line is an input whose sequence is
// the number of the line. Lines without a time have a constant one. The zero value
// is ready for use.
type Assembly struct {
	Format string         // of the stream; if "", it is recognised
	Events []events.Event // of the lines so far

	lines  uint64
	at     time.Duration // of the last line
	state  State
	reader decode.Reader
}

// AssembledCall is a call of an Assembly.
type AssembledCall struct {
	ID            string          `json:"id"`
	IDSynthesized bool            `json:"id_synthesized"`
	Name          string          `json:"name"`
	ArgsText      string          `json:"args_text"`
	Args          json.RawMessage `json:"args"`
	ArgsValid     bool            `json:"args_valid"`
	Index         json.RawMessage `json:"index"`
	Choice        int             `json:"choice"`
	MessageID     string          `json:"message_id"`
	Namespace     string          `json:"namespace"`
	Kind          string          `json:"kind"`
	Complete      bool            `json:"complete"`
	Status        events.Status   `json:"status"`

	call string
}

// Line folds the next line.
func (a *Assembly) Line(data []byte) { a.Input(inputs.Delta, 0, data) }

// Input folds the next line as an input of a kind, at a time since the beginning of
// the recording.
func (a *Assembly) Input(kind inputs.Kind, at time.Duration, data []byte) {
	a.lines++
	a.at = at
	a.fold(a.lines, kind, data)
}

// End folds the end of the stream: it rejects an event that is cut, and flushes held
// text.
func (a *Assembly) End() {
	a.fold(a.lines+1, inputs.Clock, []byte(`{"kind":"flush","ended":true}`))
}

func (a *Assembly) fold(seq uint64, kind inputs.Kind, data []byte) {
	rules := lifecycle.DefaultRules()
	a.Events = Fold(a.Events, &a.state, Input{Rules: &rules, Reader: &a.reader, Input: inputs.Input{
		Seq: seq, At: time.Unix(0, 0).Add(a.at), Token: "assemble", Kind: kind,
		Header: inputs.Header{inputs.HeaderFormat: {a.Format}}, Data: data,
	}})
}

// Calls returns the calls in the order in which they began. A call whose args are
// complete is assembled from its events, others also from the state.
func (a *Assembly) Calls() []*AssembledCall {
	byCall := map[string]*AssembledCall{}
	var list []*AssembledCall
	get := func(call string) *AssembledCall {
		if byCall[call] == nil {
			byCall[call] = &AssembledCall{call: call, Status: events.BuildingArgs, Index: json.RawMessage("null")}
			list = append(list, byCall[call])
		}
		return byCall[call]
	}
	for i := range a.Events {
		if e := &a.Events[i]; e.Call != "" {
			get(e.Call).take(e)
		}
	}
	unnamed := uint32(0) // calls that have no id yet
	for _, m := range a.state.Life.Messages {
		for i := range m.Calls {
			c := &m.Calls[i]
			if c.State.Status != events.BuildingArgs {
				continue
			}
			if c.ID == "" && !c.State.Started {
				unnamed++
			}
			get(c.State.Call).building(m, c, a.state.Life.SynthesizedID(unnamed))
		}
	}
	slices.SortStableFunc(list, func(x, y *AssembledCall) int { return compareCalls(x.call, y.call) })
	return list
}

func (c *AssembledCall) take(e *events.Event) {
	c.ID, c.IDSynthesized, c.Name = e.ID, e.IDSynthesized, e.ToolName
	c.Choice, c.MessageID, c.Namespace = e.Choice, e.MessageID, e.Namespace
	if e.Index != nil {
		c.Index = e.Index
	}
	switch e.Type {
	case events.ToolCallStart:
		c.Kind = e.Kind
	case events.ToolCallArgsDelta:
		c.ArgsText += e.Args
	case events.ToolCallArgsComplete:
		c.completed(e)
	case events.ToolCallAwaiting:
		c.Status = events.AwaitingInput
	case events.ToolCallProgress, events.ToolCallAnswered:
		if e.Status != "" { // a wait ended
			c.Status = e.Status
		}
	case events.ToolCallResult:
		c.Status = e.Status
		if e.Reason != nil && e.Reason.Code == events.ByCut && c.ArgsText == "" {
			c.Args, c.ArgsValid = json.RawMessage("{}"), true // none are valid args
		}
	}
}

// completed adopts the args of a tool_call_args_complete.
func (c *AssembledCall) completed(e *events.Event) {
	c.Complete, c.Status = true, events.ArgsComplete
	c.Args, c.ArgsValid = e.ToolArgs, *e.ArgsValid
	if e.ArgsText != nil {
		c.ArgsText = *e.ArgsText
		return
	}
	for _, b := range e.Blobs {
		c.ArgsText = string(b.Data)
		if json.Valid(b.Data) {
			c.Args = b.Data
		}
	}
}

// building adopts what the state holds of a call with incomplete args. next is its id
// if it has none yet.
func (c *AssembledCall) building(m *lifecycle.Message, call *lifecycle.Call, next string) {
	c.ID, c.Name, c.Kind = call.ID, call.Name, call.Kind()
	switch {
	case c.ID != "":
	case call.State.Started:
		c.ID, c.IDSynthesized = call.State.ID, call.State.Synth
	default:
		c.ID, c.IDSynthesized = next, true
	}
	if c.Kind == "" {
		c.Kind = "function"
	}
	c.Choice, c.MessageID, c.Namespace = m.Choice, m.ID, m.Namespace
	if index := chunks.RawIndex(call.Index); index != nil {
		c.Index = index
	}
	args := call.Args()
	c.ArgsText, c.Args, c.ArgsValid = string(call.Text), args.JSON, args.Valid
}

// compareCalls compares two calls by the sequence of their input, then by their
// number in it.
func compareCalls(x, y string) int {
	a, _ := events.ParseID(x)
	b, _ := events.ParseID(y)
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.N, b.N))
}
