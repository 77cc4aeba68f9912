package worker

import (
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// resident is a live session: its state is in memory.
type resident struct {
	token   string
	state   *session.State
	touched time.Time // when the last input was folded, or the session was loaded
	at      time.Time // when the last input that was folded was stored
	// known is when the time of the session was that of its state: when the last input was
	// folded, or the session was loaded. Clock inputs move it as they move that time.
	known   time.Time
	loading bool // its event log is compared; nothing is folded or appended meanwhile
	gone    bool // dropped: outcomes that still arrive are ignored

	entry    *entry
	log      eventLog
	snapshot coverage
}

// coverage is how far the stored snapshot of a session covers it.
type coverage struct {
	rev    uint64
	n      uint64         // the last input that it covers
	write  *snapshotWrite // that was taken, and is stored when it may be
	first  uint64         // first input that no acknowledged snapshot covers, 0 if none
	second uint64         // first input that write does not cover, 0 if none
	since  time.Time      // when the last write was taken, or the session changed first without one
}

// noteFold notes that an input changed the state. now is when it was taken. It reports
// whether the snapshot covered the state before.
func (s *resident) noteFold(in *inputs.Input, now time.Time) (first bool) {
	s.touched, s.at = now, in.At
	return s.snapshot.change(in.Seq, now)
}

// lostInputs reports whether the input of an event in its event log is missing: those up to
// pos were read, and none gave it.
func (s *resident) lostInputs(pos uint64) bool {
	return len(s.log.ahead) > 0 && s.log.ahead[0].Seq < pos
}

// advanceTime notes how an input moved the time of the session. now is when it was taken.
func (s *resident) advanceTime(in *inputs.Input, was events.Time, now time.Time) {
	moved := s.known.Add(time.Duration(s.state.Life.Time-was) * time.Millisecond)
	if in.Kind != inputs.Clock || moved.After(now) {
		moved = now
	}
	s.known = moved
}

// change notes that the state differs from the snapshot since the input stored
// at seq. It reports whether the state did not differ before.
func (c *coverage) change(seq uint64, now time.Time) (first bool) {
	if first = c.first == 0; first {
		c.first, c.since = seq, now
	}
	if c.write != nil && c.second == 0 {
		c.second = seq
	}
	return first
}

// advance notes that the snapshot that was taken last is stored.
func (c *coverage) advance(rev, n uint64) {
	c.rev, c.n = rev, n
	c.first, c.second = c.second, 0
}

func (s *resident) dirty() bool { return s.snapshot.first != 0 }

// unsaved reports whether the session needs another snapshot now or when what is under
// way is stored, or has events that are not stored.
func (s *resident) unsaved() bool {
	return s.dirty() || s.snapshot.write != nil || len(s.log.queue) > 0
}

// idle reports whether the stored snapshot and events have all of the session.
func (s *resident) idle() bool { return !s.unsaved() && !s.loading }

// header returns the headers of the session's snapshot, without its head.
func (s *resident) header(timer session.Timer, set bool) snapshot.Header {
	life := &s.state.Life
	h := snapshot.Header{Input: s.state.N, At: s.at, Open: life.Open(), Erased: s.state.Erased()}
	if set {
		if h.Timer = timer.At; life.Stored != 0 {
			h.Time = life.Time
		}
	}
	return h
}
