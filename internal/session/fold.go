// Package session is the pure function between the two logs. Fold takes the state
// of a session and one input, and appends the events that follow. Recover closes
// the open items of a session whose inputs were lost.
//
// It promises:
//   - The same inputs under the same rules cause the same events, whether they
//     are folded at once or with a stored and loaded state after any of them.
//   - No input stops a session. An input that cannot be used is reported by a
//     rejected event, and the session continues.
//   - Each call that starts has exactly one tool_call_result, after a recovery
//     too.
//   - The work is linear in the bytes of the inputs, and the state is bounded by
//     the limits of the rules.
package session

import (
	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/patch"
)

// Input is an input with the rules in force at its position in the log.
type Input struct {
	inputs.Input
	// Rules are the settings in force; if nil, those before the first rules input.
	Rules *Rules
	// Reader is scratch space that is reused; if nil, Fold makes one.
	Reader *decode.Reader
}

// State is the state of a session after an input, the content of a snapshot. The
// zero value is the state of a new session.
type State struct {
	N    uint64       // the last folded input
	Read decode.State // of the stream of the root
	Life lifecycle.State
	// Agents has the streams of the agents below the root, nil if there are none: few
	// sessions have some.
	Agents *agents
}

// Fold folds one input into s and appends the events that follow to dst.
func Fold(dst []events.Event, s *State, in Input) []events.Event {
	rules := orDefault(in.Rules)
	at := events.At(in.At)
	s.forget(at, rules)
	if in.Kind == inputs.Erase {
		*s = State{}
	}
	from := len(dst)
	name, refused := events.ParseToken(in.Token)
	if refused != nil {
		name = in.Token // a rejected input is reported under its token as it came
	}
	step := lifecycle.New(dst, &s.Life, rules, name, in.Seq, at, in.Kind.Own())
	if refused != nil {
		step.Reject(events.BadToken, 0, refused.Error())
	} else {
		feed(step, s, &in)
	}
	s.N = in.Seq
	dst = step.Done()
	fill(dst[from:])
	return dst
}

// Erased reports whether the session was erased and nothing of it was folded since. After
// Recover, First is 0 too.
func (s *State) Erased() bool { return s.Life.First != 0 && s.Life.Last == 0 }

func orDefault(rules *Rules) *Rules {
	if rules == nil {
		r := lifecycle.DefaultRules()
		rules = &r
	}
	return rules
}

func (s *State) forget(at events.Time, rules *Rules) {
	if at = max(at, s.Life.Time); s.Life.Idle() && s.Life.Last != 0 && at > s.Life.Last+events.Time(rules.Forget) {
		*s = State{Life: lifecycle.State{Time: s.Life.Time, Memory: s.Life.Memory.Forget()}}
	}
}

func (in *Input) reader() *decode.Reader {
	if in.Reader == nil {
		return new(decode.Reader)
	}
	return in.Reader
}

func feedClock(step *lifecycle.Step, s *State, in *Input) {
	tick, problem := decode.Clock(in.Data)
	if reject(step, problem) || !step.Tick(events.Time(tick.At), events.Time(tick.Until), tick.Elapsed) {
		return
	}
	switch lifecycle.TimerKind(tick.Kind) {
	case lifecycle.Deadline:
		step.Deadline(tick.Call)
	case lifecycle.Flush:
		if tick.Cut {
			endDeltas(step, s)
			return
		}
		if tick.Ended || s.Life.Time >= s.Life.Last+cutAfter {
			endDeltas(step, s)
		}
		step.Flush(tick.Ended)
	case lifecycle.RunIdle:
		endDeltas(step, s)
		step.RunIdle()
	}
}

// reject reports a problem, if there is one, and reports whether there is.
func reject(step *lifecycle.Step, p *decode.Problem) bool {
	if p == nil {
		return false
	}
	step.Reject(events.Code(p.Code), p.Offset, p.Text)
	if p.Input != 0 {
		step.Out[len(step.Out)-1].Input = p.Input // the text may begin in an earlier input
	}
	return true
}

// fill sets what lifecycle cannot: the messages of synthetic results, and
// references in place of large values.
func fill(list []events.Event) {
	for i := range list {
		fillEvent(&list[i])
	}
}

func fillEvent(e *events.Event) {
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
