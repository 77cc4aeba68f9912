package lifecycle

import (
	"cmp"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// Timer is the next clock input that a session needs.
type Timer struct {
	At   events.Time
	Kind TimerKind
	Call string // of a Deadline
}

// TimerKind is the kind of a clock input.
type TimerKind string

// The kinds.
const (
	Deadline TimerKind = "deadline" // of a call
	Flush    TimerKind = "flush"    // emit what is held
	RunIdle  TimerKind = "run_idle" // the run was silent
)

// Timer returns the earliest clock input that the session needs. It reports
// false where it needs none. The caller puts it into the input log when it is
// due.
func (s *State) Timer(r *Rules) (Timer, bool) {
	var t Timer
	earliest := func(at events.Time, kind TimerKind, call string) {
		if t.At == 0 || at < t.At {
			t = Timer{at, kind, call}
		}
	}
	held, awaiting := s.failed(), true
	for _, m := range s.Messages {
		held = held || m.Phase == Finishing && m.Wait == 0 || len(m.Parts.Held) > 0
		if m.Wait != 0 {
			earliest(s.Last+m.wait(r), Flush, "")
		}
		for i := range m.Calls {
			c := &m.Calls[i]
			if c.State.Status.Terminal() {
				continue
			}
			awaiting = awaiting && c.State.waits()
			held = held || holdsArgs(c, r) || c.State.awaitsWhole()
			earliest(c.State.Deadline, Deadline, c.State.Call)
		}
	}
	if held {
		earliest(s.Last+events.Time(r.FlushAfter), Flush, "")
	}
	if s.Run != nil && awaiting {
		earliest(s.Last+events.Time(r.RunIdle), RunIdle, "")
	}
	return t, t.At != 0
}

// advance sets the time of the session to that of an input that was stored at a time.
// If a clock was set back, stored times are before the time of the session. As long as
// something is open, that then goes on with the differences between stored times.
// Otherwise it stands still until the stored times have caught up.
func (s *State) advance(at events.Time) {
	if at >= s.Time {
		s.Time, s.Stored = at, 0
		return
	}
	if s.Stored != 0 && !s.Idle() {
		s.Time += max(0, at-s.Stored)
	}
	s.Stored = at
}

// Tick applies the time that a clock input states, and reports whether the input counts.
// One that was stored after until does not, if until is not 0: the log stored nothing
// meanwhile, and what comes next may be older. elapsed states that the time of the
// session has reached at. It advances no further than to the session's next timer.
func (st *Step) Tick(at, until events.Time, elapsed bool) bool {
	s := st.State
	stored := cmp.Or(s.Stored, s.Time)
	if until != 0 && stored > until {
		return false
	}
	if next, ok := s.Timer(st.Rules); ok && elapsed && min(at, next.At) > s.Time {
		s.Time, s.Stored = min(at, next.At), stored
	}
	return true
}

// Deadline applies the deadline of a call. The state decides whether it still
// holds: a result that came before it in the log wins.
func (st *Step) Deadline(call string) {
	m, c := st.find("", call, anywhere)
	if m == nil {
		return
	}
	now := st.State.Time
	if c.State.Deadline == 0 || now < c.State.Deadline {
		return
	}
	building := c.State.Status == events.BuildingArgs
	switch {
	case now >= c.State.Expires:
		st.close(m, c, events.Cancelled, events.ByExpired, "")
	case building && c.Certain():
		st.completeArgs(m, c, "idle")
	case building:
		st.close(m, c, events.TimedOut, events.ByArgsTimeout, "")
	default:
		st.close(m, c, events.TimedOut, events.ByResultTimeout, "")
	}
	st.dropFinished()
}

// RunIdle ends the run if it was silent for long and no call of it runs.
func (st *Step) RunIdle() {
	s := st.State
	if s.Run == nil || s.Time < s.Last+events.Time(st.Rules.RunIdle) {
		return
	}
	for _, c := range s.calls() {
		if !c.State.Status.Terminal() && !c.State.waits() {
			return
		}
	}
	st.endRun(events.Error, runReason(events.ByRunIdle, ""))
}

// wait returns the silence that ends the message after its finish reason.
func (m *Message) wait(r *Rules) events.Time {
	return events.Time(max(m.Wait, 1)) * events.Time(r.FlushAfter)
}

// Flush emits all that is held to be coalesced: args, content, the calls that were not
// stated as a whole soon, and the end of messages that waited for their usage.
// Messages that waited for content are ended by a longer silence, or by the end of
// the stream.
func (st *Step) Flush(ended bool) {
	for _, m := range st.State.Messages {
		for i := range m.Calls {
			st.emitArgs(m, &m.Calls[i], true)
		}
		st.emitText(m, true)
	}
	s := st.State
	st.completeRestated("", chunks.RestatedSoon)
	st.finishMessages(func(m *Message) bool {
		return m.Phase == Finishing && (m.Wait <= 1 || ended || s.Time >= s.Last+m.wait(st.Rules))
	})
	if ended {
		st.answerRestated()
		st.endStream()
	}
	st.endFailed()
}

// Progress applies a sign that a tool is alive: the deadline of its call starts
// again. It reports whether the call is open.
func (st *Step) Progress(p *chunks.Chunk) (open bool) {
	m, c := st.find(p.ID, p.Call, anywhere)
	if m == nil {
		return false
	}
	st.emitStart(m, c, true)
	c.State.alive()
	c.State.setDeadline(st.State.Time, st.Rules, c.Name)
	e := st.emitCall(events.ToolCallProgress, m, c)
	e.Progress, e.Deadline = clone(p.Text), at(c.State.Deadline)
	if percent := p.Percent; p.HasPercent {
		e.Percent = &percent
	}
	if e.InterruptID = clone(p.InterruptID); p.InterruptID != "" && p.Content == "" && c.State.Status == events.ArgsComplete {
		e.Status = c.State.Status
	}
	st.setRequest(e, p)
	return true
}
