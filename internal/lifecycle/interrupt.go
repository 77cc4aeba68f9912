package lifecycle

import (
	"slices"

	"streamer/internal/events"
)

// Interrupt is a request to close open calls. Each field that is set narrows
// which calls it closes. Without any it closes everything.
type Interrupt struct {
	Reason    string
	IDs       []string // provider ids
	Calls     []string // names of calls in events
	MessageID string
	Run       string
	Namespace string // and those below it
}

func (in *Interrupt) covers(m *Message) bool {
	return (in.Run == "" || m.Run == in.Run) && (in.MessageID == "" || m.ID == in.MessageID) && within(m.Namespace, in.Namespace)
}

// NextRun is the run of an interrupt that means the open run, or the next one if none is
// open: a stop can overtake the first token of what it stops.
const NextRun = "next"

// Stop is an interrupt that waits for the next run.
type Stop struct {
	Reason string
	Until  events.Time // the time of the session after which no run begins that it means
	Run    string      // that it means, "" until one begins
}

// stopWaits is how long in ms an interrupt waits for the next run.
const stopWaits events.Time = 60_000

// Interrupt closes the calls that an interrupt covers. Where it names no call it
// also mutes the open messages, and where it names no message either it ends the
// run. What it names and does not find open is reported. The last event is its answer.
func (st *Step) Interrupt(in Interrupt) {
	in.Reason = st.brief(in.Reason)
	from, run := len(st.Out), ""
	if st.State.Run != nil {
		if run = st.State.Run.ID; in.Run == NextRun {
			in.Run = run
		}
	}
	switch {
	case len(in.IDs)+len(in.Calls) > 0:
		st.interruptCalls(&in)
	case in.Run == NextRun && in.MessageID == "" && in.Namespace == "":
		st.State.Stop = &Stop{Reason: in.Reason, Until: st.State.Time + stopWaits}
	default:
		st.interruptAll(&in)
	}
	st.dropFinished()
	st.EndEvent()
	st.answerInterrupt(&in, run, from)
}

// meet notes the run that an interrupt has waited for.
func (s *State) meet(run string) {
	switch {
	case s.Stop == nil:
	case s.Stop.Run != "" || s.Time > s.Stop.Until:
		s.Stop = nil
	default:
		s.Stop.Run = run
	}
}

// applyStop ends the run that an interrupt has waited for, when its first message begins.
func (st *Step) applyStop() {
	s := st.State
	if s.Stop == nil || s.Stop.Run == "" {
		return
	}
	stop := s.Stop
	switch {
	case s.Run == nil || s.Run.ID != stop.Run: // it is over
		s.Stop = nil
	case slices.ContainsFunc(s.Messages, func(m *Message) bool { return m.Run == stop.Run }):
		s.Stop = nil
		st.interruptAll(&Interrupt{Reason: stop.Reason, Run: stop.Run})
		st.dropFinished()
	}
}

func (st *Step) interruptAll(in *Interrupt) {
	from := len(st.Out)
	st.closeCalls(in.covers, false, events.ByInterrupt, in.Reason)
	st.mute(in.covers)
	if run := st.State.Run; run != nil && in.MessageID == "" && in.Namespace == "" && (in.Run == "" || run.ID == in.Run) {
		st.endRun(events.Cancelled, runReason(events.ByInterrupt, in.Reason))
	}
	if len(st.Out) == from && (in.MessageID != "" || in.Run != "" || in.Namespace != "") {
		st.unmatched(interruptKind, in.target(nil, nil))
	}
}

// maxClosedNames bounds the calls that the answer to an interrupt names.
const maxClosedNames = 100

// answerInterrupt emits the answer to an interrupt, whose other events are those from
// position from on.
func (st *Step) answerInterrupt(in *Interrupt, run string, from int) {
	closed, calls := int64(0), []string(nil)
	for i := range st.Out[from:] {
		e := &st.Out[from+i]
		if e.Type != events.ToolCallResult || !e.Synthetic {
			continue
		}
		if closed++; closed <= maxClosedNames {
			calls = append(calls, e.Call)
		}
	}
	e := st.append(events.Interruption, run)
	e.Closed, e.Calls, e.Input = &closed, calls, st.Seq
	if in.MessageID != "" || in.Run != "" || in.Namespace != "" || len(in.IDs)+len(in.Calls) > 0 {
		e.Target = in.target(in.IDs, in.Calls)
	}
	if in.Reason != "" {
		e.Reason = runReason(events.ByInterrupt, in.Reason)
	}
}

// Bound states what became of what an earlier interrupt stopped.
func (st *Step) Bound(of uint64, b events.Binding) {
	e := st.append(events.Interruption, "")
	for i, id := range b.CallsOut {
		b.CallsOut[i] = shorten(id, maxMissingName)
	}
	e.Input, e.Binding = of, &b
}

// Resume states that what interrupts stopped may go on, by a person or a cause.
func (st *Step) Resume(by string) {
	e := st.append(events.Resumption, "")
	e.By, e.Input = st.brief(by), st.Seq
}

// Erased states that all before this input is erased. The state must be a new one.
func (st *Step) Erased() { st.append(events.SessionErased, "").Input = st.Seq }

func (st *Step) interruptCalls(in *Interrupt) {
	from := len(st.Out)
	ids := slices.DeleteFunc(slices.Clone(in.IDs), func(id string) bool { return st.interruptCall(in, id, "", from) })
	calls := slices.DeleteFunc(slices.Clone(in.Calls), func(call string) bool { return st.interruptCall(in, "", call, from) })
	if len(ids)+len(calls) > 0 { // they name no open call
		st.unmatched(interruptKind, in.target(ids, calls))
	}
}

// interruptCall closes the call that a provider id or a name means. It reports
// whether the call was open when the interrupt came. The events from position
// from on are those of the interrupt: it may name a call twice.
func (st *Step) interruptCall(in *Interrupt, id, call string, from int) bool {
	m, c := st.oldest(anywhere, func(m *Message, c *Call) bool { return in.covers(m) && isNamed(c, id, call) })
	if m != nil {
		st.close(m, c, events.Cancelled, events.ByInterrupt, in.Reason)
		return true
	}
	return slices.ContainsFunc(st.Out[from:], func(e events.Event) bool {
		return e.Type == events.ToolCallResult && (call != "" && e.Call == call || id != "" && (e.ID == id || e.UID == id))
	})
}
