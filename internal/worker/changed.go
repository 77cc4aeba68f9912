package worker

import (
	"slices"
	"time"
)

// changedSessions are the resident sessions that are unsaved. To find those that are
// due, or that hold the checkpoint back, does not cost more where more sessions are in
// memory. The zero value has none.
type changedSessions []changedSession

// changedSession is a session as of its last change, or of the beginning of its last
// snapshot. It is stale once the session's coverage.since has changed.
type changedSession struct {
	session *resident
	since   time.Time
}

// add adds a session whose coverage.since was set.
func (c *changedSessions) add(s *resident) { *c = append(*c, changedSession{s, s.snapshot.since}) }

// take calls do with the sessions that changed at a time or before it, and removes
// those for which it returns false. do may add sessions.
func (c *changedSessions) take(than time.Time, do func(*resident) (keep bool)) {
	n, kept := len(*c), 0
	for i := range n {
		e := &(*c)[i]
		if !e.since.After(than) && (!e.current() || !do(e.session)) {
			continue
		}
		if kept < i {
			(*c)[kept] = (*c)[i] // do may have moved them
		}
		kept++
	}
	*c = slices.Delete(*c, kept, n)
}

// all calls yield with the sessions, with some of them more than once, until it returns
// false.
func (c *changedSessions) all(yield func(*resident) bool) {
	for i := range *c {
		if e := &(*c)[i]; e.current() && !yield(e.session) {
			return
		}
	}
}

func (e *changedSession) current() bool {
	s := e.session
	return !s.gone && e.since.Equal(s.snapshot.since) && s.unsaved()
}
