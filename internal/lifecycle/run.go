package lifecycle

import (
	"cmp"
	"slices"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

func (st *Step) startRun(id string) {
	s := st.State
	if s.Run != nil {
		if id == "" || s.Run.ID == id {
			return
		}
		// Another run begins. The calls of the old one may still be answered.
		st.endRun(events.Completed, nil)
	}
	if id == "" {
		id = events.ID{Seq: st.Seq, N: st.n}.String()
	} else {
		id = clone(id)
	}
	s.Run, s.LastRun, s.Turn = &Run{ID: id}, id, AtStart
	s.meet(id)
	st.emit(events.RunStarted)
}

func (r *Run) ends(explicit bool) { r.Explicit = r.Explicit || explicit }

func (r *Run) unstated() { r.Explicit = false }

// rests records whether a finished message left nothing open in the run.
func (r *Run) rests(rests bool) { r.Rests = rests }

func (st *Step) nothingLeft() {
	if run := st.State.Run; run.Explicit {
		run.rests(true)
		return
	}
	st.endRun(events.Completed, nil)
}

// endStream ends a run whose end the wire does not state, because the stream ended
// before. Messages without a call in mid-args are finished.
func (st *Step) endStream() {
	run := st.State.Run
	if run == nil || !run.Explicit {
		return
	}
	run.unstated()
	st.finishMessages(func(m *Message) bool { return m.Run == run.ID && !m.cut() })
	if run.Rests {
		st.endRun(events.Completed, nil)
		return
	}
	st.endFailed()
}

// abandon closes the open calls of a run that ends without their results, or only those
// whose args are no JSON.
func (st *Step) abandon(c *chunks.Chunk) {
	if !c.Abandons {
		return
	}
	run := st.State.LastRun
	for m, call := range st.State.calls() {
		usable := call.State.Usable || call.State.Status == events.BuildingArgs && call.Usable()
		if m.Run == run && !(c.Spares && usable) {
			st.close(m, call, events.Cancelled, events.BySuperseded, "the run ended without a result of the call")
		}
	}
}

// End ends the open run, as its own stream or an end input asks. A run that
// failed or was cancelled closes its open calls, even if it had ended already. A
// completed one leaves them open.
func (st *Step) End(status events.Status, detail string) {
	s := st.State
	run := s.LastRun
	s.Turn = AtStart
	var reason *events.Reason
	if status == events.Error || status == events.Cancelled {
		code := events.ByRunError
		if status == events.Cancelled {
			code = events.ByRunCancelled
		}
		reason = runReason(code, st.brief(detail))
		st.closeCalls(func(m *Message) bool { return m.Run == run }, false, code, reason.Detail)
	}
	if s.Run == nil {
		st.dropFinished()
		return
	}
	st.endRun(cmp.Or(status, events.Completed), reason)
}

// EndAgent ends the open messages of a namespace, and of those below it. An agent that
// failed or was cancelled closes its open calls.
func (st *Step) EndAgent(namespace string, status events.Status) {
	of := func(m *Message) bool { return within(m.Namespace, namespace) }
	switch status {
	case events.Error:
		st.closeCalls(of, false, events.ByRunError, "")
	case events.Cancelled:
		st.closeCalls(of, false, events.ByRunCancelled, "")
	}
	for _, m := range slices.Clone(st.State.Messages) {
		if m.Phase != Finished && of(m) {
			m.runEnded()
			st.finishMessage(m, status == events.Error || status == events.Cancelled)
		}
	}
	st.dropFinished()
}

// endRun is the end of a run, the only one. It finishes the messages of the run
// first.
func (st *Step) endRun(status events.Status, reason *events.Reason) {
	s := st.State
	run := s.Run.ID
	st.completeRestated(run, chunks.RestatedInRun)
	for _, m := range s.Messages {
		if m.Run == run && m.Phase != Finished {
			building, parts := m.Phase == Building, m.Parts
			m.runEnded()
			st.finishMessage(m, status == events.Error || status == events.Cancelled)
			if building {
				s.Memory.leave(m, parts)
			}
		}
	}
	e := st.emit(events.RunFinished)
	e.Status, e.Reason = status, reason
	for _, c := range s.calls() {
		if !c.State.Status.Terminal() {
			e.Pending = append(e.Pending, c.State.Call)
		}
	}
	s.Run = nil
	st.dropFinished()
	st.rooted = nil // the messages of this run end no other run
}

// noteFailed records that the newest message of the run failed. A failure in a
// subgraph is answered by the graph.
func (st *Step) noteFailed(m *Message, text string) {
	if run := st.State.Run; run != nil && run.ID == m.Run && m.root() {
		run.Failed, run.Detail = true, st.brief(text)
	}
}

// endFailed ends the run as failed where its newest message failed and nothing is
// open.
func (st *Step) endFailed() {
	if st.State.failed() {
		st.endRun(events.Error, runReason(events.ByRunError, st.State.Run.Detail))
	}
}

// failed reports whether the open run has failed and nothing else is open. A run
// whose end the wire states waits for it.
func (s *State) failed() bool {
	return s.Run != nil && s.Run.Failed && !s.Run.Explicit && len(s.Messages) == 0
}

func runReason(code events.Code, detail string) *events.Reason {
	return &events.Reason{Code: code, Detail: detail, Text: map[events.Code]string{
		events.ByRunError:     "The run failed.",
		events.ByRunCancelled: "The run was cancelled.",
		events.ByInterrupt:    "The run was interrupted.",
		events.ByLost:         "Inputs of the run were lost.",
		events.ByRunIdle:      "Nothing more was heard of the run.",
	}[code]}
}

func (st *Step) dropFinished() {
	s := st.State
	s.Messages = slices.DeleteFunc(s.Messages, func(m *Message) bool {
		if m.Phase != Finished || m.open() > 0 {
			return false
		}
		st.noteDropped(m)
		return true
	})
}

// noteDropped records whether the run may end with a message that is dropped. A
// run does not end with the other choices of a message of which one asked for
// calls.
func (st *Step) noteDropped(m *Message) {
	run := st.State.Run
	switch {
	case !m.root() || m.Superseded:
	case m.hasClientCall():
		if run != nil && run.ID == m.Run {
			run.Asked = &Answer{m.Namespace, m.ID, m.Choice}
		}
		if st.rooted != nil && run != nil && run.Asked.beside(st.rooted) {
			st.rooted = nil
		}
	case run == nil || !run.Asked.beside(m):
		st.rooted = m
	}
}

// answer records that the run may end with a message that the root graph has as its
// own. A message of a former run ends no run.
func (st *Step) answer(c *chunks.Chunk) {
	s := st.State
	if s.Run != nil && s.Turn == UnderWay && s.Memory.hasMessage(c.Message) {
		st.rooted = &Message{ID: clone(c.Message), Run: s.Run.ID}
	}
}

func (m *Message) hasClientCall() bool { return m.any(func(c *Call) bool { return !c.Provider }) }

// beside reports whether a is another choice of the message m.
func (a *Answer) beside(m *Message) bool {
	return a != nil && a.Message == m.ID && a.Namespace == m.Namespace && a.Choice != m.Choice
}
