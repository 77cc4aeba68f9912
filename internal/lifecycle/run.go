package lifecycle

import (
	"streamer/internal/events"
)

// runStart begins a run: the wire's, or, with id "", one named after the event
// that tells it.
func (st *Step) runStart(id string) {
	s := st.State
	if s.Run != nil {
		if id == "" || s.Run.ID == id {
			return
		}
		// Another run begins; what the old one left open may still be answered.
		st.endRun(events.Completed, nil)
	}
	if id != "" && s.LastRun == id {
		// The run goes on after it waited for a person, or is told again.
		s.Run = &Run{ID: clone(id), Wire: true}
		st.emit(events.RunStarted)
		return
	}
	s.Run = &Run{ID: clone(id), Wire: id != ""}
	if id == "" {
		s.Run.ID = events.ID{Seq: st.Seq, N: st.n}.String()
	}
	s.LastRun = s.Run.ID
	st.emit(events.RunStarted)
}

// End ends the run that is going on, by its own word or an end input. One that
// failed or was cancelled closes its open calls, even where it was over
// already; one that is completed leaves them.
func (st *Step) End(status events.Status, detail string) {
	s := st.State
	run := s.LastRun
	var reason *events.Reason
	if status == events.Error || status == events.Cancelled {
		code := events.ByRunError
		if status == events.Cancelled {
			code = events.ByRunCancelled
		}
		reason = &events.Reason{Code: code, Text: runText(code), Detail: st.brief(detail)}
		st.closeCalls(func(m *Message, _ *Call) bool { return m.Run == run }, code, reason.Detail)
	}
	if status == "" {
		status = events.Completed
	}
	if s.Run == nil {
		st.sweep()
		return
	}
	st.endRun(status, reason)
}

// endRun tells the end of the run: first the ends of its messages.
func (st *Step) endRun(status events.Status, reason *events.Reason) {
	s := st.State
	run := s.Run.ID
	for _, m := range s.Messages {
		if m.Run == run && m.Phase != Finished {
			// That the run is over does not say that the model came to its end.
			m.Truncated = m.Truncated || m.Phase == Building
			st.over(m, status == events.Error || status == events.Cancelled)
		}
	}
	e := st.emit(events.RunFinished)
	e.Status, e.Reason = status, reason
	for _, m := range s.Messages {
		for _, c := range m.Calls {
			if !c.Status.Terminal() {
				e.Pending = append(e.Pending, c.Call)
			}
		}
	}
	s.Run = nil
	st.sweep()
	st.rooted = nil // its messages end no other run
}

func runText(code events.Code) string {
	switch code {
	case events.ByRunError:
		return "The run failed."
	case events.ByRunCancelled:
		return "The run was cancelled."
	case events.ByInterrupt:
		return "The run was interrupted."
	}
	return "Nothing more was heard of the run."
}
