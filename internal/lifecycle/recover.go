package lifecycle

import "streamer/internal/events"

// Recovery describes a session whose inputs were lost.
type Recovery struct {
	Session string
	Next    events.ID  // the id of the first event to emit
	Open    *OpenItems // of the session's event log
	// Shape is the history shape of the calls that the state does not have.
	Shape string
}

// Recover closes the open items of a session as lost: its calls through the same
// transition as every other cause, and its run as failed. It mutes the messages
// that are not finished. Open items of the state that the event log does not show
// are dropped. What the state remembers is kept, and so are the results that wait for
// the args of their calls.
func (s *State) Recover(dst []events.Event, rules *Rules, r Recovery) []events.Event {
	st := New(dst, s, rules, r.Session, r.Next.Seq, r.Open.Time, true)
	st.n = r.Next.N
	s.replaceOpen(r.Open, r.Shape)
	st.closeCalls(func(*Message) bool { return true }, false, events.ByLost, "")
	for _, m := range s.Messages {
		if m.Phase != Finished {
			s.Memory.mute(m.Namespace, m.ID, s.Time)
		}
	}
	s.Messages = nil
	if s.Run != nil {
		st.endRun(events.Error, runReason(events.ByLost, ""))
	}
	s.First, s.IDs = 0, 0 // the lost inputs may have used the next ids
	return st.Done()
}

func (s *State) replaceOpen(open *OpenItems, shape string) {
	shapes, held := map[string]string{}, map[string]*Result{} // by call
	for m, c := range s.calls() {
		shapes[c.State.Call], held[c.State.Call] = m.Shape, c.State.Result
	}
	s.Messages = nil
	for i := range open.Messages {
		s.Messages = append(s.Messages, open.Messages[i].restored(shapes, shape))
	}
	for _, c := range s.calls() {
		if r := held[c.State.Call]; r != nil && c.State.Status == events.BuildingArgs {
			c.State.hold(r)
		}
	}
	s.Run = nil
	if open.Run != "" {
		s.Run = &Run{ID: open.Run}
	}
	if open.LastRun != "" {
		s.LastRun = open.LastRun
	}
}
