package lifecycle

import (
	"streamer/internal/events"
)

// Alarm is what the clock is to say next.
type Alarm struct {
	At   events.Time
	Kind AlarmKind
	Call string // of a Deadline
}

// AlarmKind is the kind of a clock input.
type AlarmKind string

// The kinds.
const (
	Deadline AlarmKind = "deadline" // of a call
	Flush    AlarmKind = "flush"    // send what is held
	RunIdle  AlarmKind = "run_idle" // nothing was heard of a run
)

// Alarm gives the earliest thing the clock has to say, if any: somebody with a
// clock puts it into the log when the time has come.
func (s *State) Alarm(r *Rules) (Alarm, bool) {
	var a Alarm
	sooner := func(at events.Time, kind AlarmKind, call string) {
		if a.At == 0 || at < a.At {
			a = Alarm{at, kind, call}
		}
	}
	held, patient := false, true
	for _, m := range s.Messages {
		held = held || m.Phase == Finishing || len(m.Parts.Held) > 0
		for i, c := range m.Calls {
			if c.Status.Terminal() {
				continue
			}
			patient = patient && c.Status == events.AwaitingInput
			held = held || c.held(m, i, r)
			sooner(c.Deadline, Deadline, c.Call)
		}
	}
	if held {
		sooner(s.Last+events.Time(r.FlushAfter), Flush, "")
	}
	if s.Run != nil && patient {
		sooner(s.Last+events.Time(r.RunIdle), RunIdle, "")
	}
	return a, a.At != 0
}

// held tells whether args of a call wait to be told.
func (c *Call) held(m *Message, i int, r *Rules) bool {
	said := &m.Asm.Calls[i]
	return c.Status == events.BuildingArgs && c.Started && r.Deltas != Off &&
		len(said.Text) > c.Sent && !said.Object && !said.Placeholder() && !said.Hold
}

// Deadline takes the clock's word that a call's time is over. Whether it still
// is, the state decides: a result that stands before this in the log has won.
func (st *Step) Deadline(call string) {
	m, i := st.find("", call, anywhere)
	if m == nil {
		return
	}
	c, said := m.Calls[i], &m.Asm.Calls[i]
	now := st.State.Time
	if c.Deadline == 0 || now < c.Deadline {
		return
	}
	switch {
	case now >= c.Expires:
		st.close(m, i, events.Cancelled, events.ByExpired, "")
	case c.Status == events.BuildingArgs && said.Whole():
		st.complete(m, i, "idle")
	case c.Status == events.BuildingArgs && c.Result != nil:
		st.complete(m, i, "result")
	case c.Status == events.BuildingArgs:
		st.close(m, i, events.TimedOut, events.ByArgsTimeout, "")
	default:
		st.close(m, i, events.TimedOut, events.ByResultTimeout, "")
	}
	st.sweep()
}

// RunIdle takes the clock's word that nothing was heard of the run.
func (st *Step) RunIdle() {
	s := st.State
	if s.Run == nil || s.Time < s.Last+events.Time(st.Rules.RunIdle) {
		return
	}
	for _, m := range s.Messages {
		for _, c := range m.Calls {
			if !c.Status.Terminal() && c.Status != events.AwaitingInput {
				return
			}
		}
	}
	st.endRun(events.Error, &events.Reason{Code: events.ByRunIdle, Text: runText(events.ByRunIdle)})
}
