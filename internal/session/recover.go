package session

import (
	"streamer/internal/events"
	"streamer/internal/lifecycle"
)

// OpenItems are the open items of a session as its event log shows them.
type OpenItems = lifecycle.OpenItems

// Recovery describes a session whose inputs were lost.
type Recovery struct {
	Session string
	// Next is the id of the first event to emit. It is after all events of the
	// session's event log, and its input is the last one that is lost.
	Next events.ID
	Open OpenItems // of the whole event log
	// Rules in force at that input; if nil, those before the first rules input.
	Rules *Rules
}

// Recover closes the open items of a session as lost and appends the events to
// dst. Each call is closed by the same transition, and with the same texts, as by
// every other cause. The messages that are not finished are muted.
//
// Afterwards the state is that after the input r.Next.Seq. It has no open item
// and keeps what it remembered; it may be the zero value where none is left.
func Recover(dst []events.Event, s *State, r Recovery) []events.Event {
	from := len(dst)
	dst = s.Life.Recover(dst, orDefault(r.Rules), lifecycle.Recovery{
		Session: r.Session, Next: r.Next, Open: &r.Open, Shape: s.Read.Shape(),
	})
	s.N = r.Next.Seq
	fill(dst[from:])
	return dst
}
