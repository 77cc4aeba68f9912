// Package session is the pure function between the two logs: Fold takes a
// session's state and one input, and appends the events that follow.
//
// It promises that the same inputs under the same rules give the same events,
// whether folded in one go or resumed from a saved state after any input; that
// no input stops a session; and that its work is linear in the bytes it reads.
package session

import (
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/patch"
)

// Rules are the settings the fold reads.
type Rules = lifecycle.Rules

// Input is an input with the rules in force at its place of the log.
type Input struct {
	inputs.Input
	// Rules are the settings in force; if nil, those before the first rules input.
	Rules *Rules
	// Reader is scratch space to use again; if nil, one is made.
	Reader *decode.Reader
}

// State is what is known of a session after an input. The zero value is a
// session nothing is known of.
type State struct {
	N    uint64          `json:"n"` // the last input folded
	Read decode.State    `json:"read,omitzero"`
	Life lifecycle.State `json:"life,omitzero"`
}

// Fold takes one input and appends the events that follow to dst.
func Fold(dst []events.Event, s *State, in Input) []events.Event {
	rules := in.Rules
	if rules == nil {
		r := lifecycle.DefaultRules()
		rules = &r
	}
	at := events.At(in.At)
	s.forget(at, rules)
	from := len(dst)
	name, refused := events.ParseToken(in.Token)
	if refused != nil {
		name = in.Token // a rejected input is reported under its token as it came
	}
	step := lifecycle.New(dst, &s.Life, rules, name, in.Seq, at, in.Kind == inputs.Clock)
	if refused != nil {
		step.Reject(events.BadToken, 0, refused.Error())
	} else {
		feed(step, s, &in)
	}
	s.N = in.Seq
	dst = step.Done()
	for i := from; i < len(dst); i++ {
		furnish(&dst[i])
	}
	return dst
}

// forget drops everything of a session that has nothing open and was silent
// for long.
func (s *State) forget(at events.Time, rules *Rules) {
	if at = max(at, s.Life.Time); s.Life.Idle() && s.Life.Last != 0 && at > s.Life.Last+events.Time(rules.Forget) {
		*s = State{Life: lifecycle.State{Time: s.Life.Time}}
	}
}

func feed(step *lifecycle.Step, s *State, in *Input) {
	switch in.Kind {
	case inputs.Delta:
		feedDelta(step, s, in)
	case inputs.Result, inputs.Progress, inputs.Interrupt, inputs.End:
		feedControl(step, in)
	case inputs.Clock:
		feedClock(step, in)
	default:
		step.Reject(events.BadShape, 0, "there is no input of kind "+string(in.Kind))
	}
}

func feedDelta(step *lifecycle.Step, s *State, in *Input) {
	r := in.Reader
	if r == nil {
		r = new(decode.Reader)
	}
	r.Reset(&s.Read, in.Data, in.Format(), decode.Limits{})
	for r.Next() {
		step.Shape = r.Shape()
		step.Chunks(r.Chunks())
		reject(step, r.Problem())
	}
}

func feedClock(step *lifecycle.Step, in *Input) {
	tick, problem := decode.Clock(in.Data)
	if reject(step, problem) {
		return
	}
	switch lifecycle.TimerKind(tick.Kind) {
	case lifecycle.Deadline:
		step.Deadline(tick.Call)
	case lifecycle.Flush:
		step.Flush()
	case lifecycle.RunIdle:
		step.RunIdle()
	}
}

func reject(step *lifecycle.Step, p *decode.Problem) bool {
	if p == nil {
		return false
	}
	step.Reject(events.Code(p.Code), p.Offset, p.Text)
	return true
}

// furnish gives an event what only this package can: the message of a
// synthetic result, and references in place of large values.
func furnish(e *events.Event) {
	if e.Type == events.Synthetic {
		m, err := patch.Synthetic(patch.Shape(e.Shape), patch.Call{ID: e.ID, Name: e.ToolName, Kind: e.Kind, Parent: e.ParentCall}, e.Text, e.Reason.Text)
		if err != nil { // a shape is always one of patch's
			m = []byte("{}")
		}
		e.Message = m
		return
	}
	if e.ArgsText != nil && len(*e.ArgsText) > events.BlobChunk {
		e.ArgsRef = e.Large([]byte(*e.ArgsText))
		e.ArgsText, e.ToolArgs = nil, nil
	}
	if len(e.ToolResult) > events.BlobChunk {
		e.ToolResultRef = e.Large(e.ToolResult)
		e.ToolResult = nil
	}
}
