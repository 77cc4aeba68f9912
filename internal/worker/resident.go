package worker

import (
	"fmt"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// resident is a session whose state is in memory.
type resident struct {
	token   string
	state   *session.State
	touched time.Time // when the last input was folded, or the session was loaded
	at      time.Time // when the last input that was folded was stored
	// known is when the time of the session was that of its state: when the last input was
	// folded, or the session was loaded. Clock inputs move it as they move that time.
	known time.Time
	// fresh sessions are assumed to be new: nothing of them was read, and no event
	// of them is stored yet.
	fresh bool
	gone  bool // dropped: outcomes that still arrive are ignored
	open  int  // calls, as openCalls has them

	log      eventLog
	snapshot coverage
}

// coverage is how far the snapshot of a session covers it.
type coverage struct {
	rev    uint64
	write  *snapshotWrite // under way
	first  uint64         // first input that no acknowledged snapshot covers, 0 if none
	second uint64         // first input that the write under way does not cover, 0 if none
	since  time.Time      // when the last write began, or the session changed first without one
	unsent bool           // the stored snapshot has events that were not stored yet
}

// folded notes that an input changed the state. now is when it was taken. It reports
// whether the snapshot covered the state before.
func (s *resident) folded(in *inputs.Input, now time.Time) (first bool) {
	s.touched, s.at = now, in.At
	return s.snapshot.changed(in.Seq, now)
}

// timed notes how an input moved the time of the session. now is when it was taken.
func (s *resident) timed(in *inputs.Input, was events.Time, now time.Time) {
	moved := s.known.Add(time.Duration(s.state.Life.Time-was) * time.Millisecond)
	if in.Kind != inputs.Clock || moved.After(now) {
		moved = now
	}
	s.known = moved
}

// changed notes that the state differs from the snapshot since the input stored
// at seq. It reports whether the state did not differ before.
func (c *coverage) changed(seq uint64, now time.Time) (first bool) {
	if first = c.first == 0; first {
		c.first, c.since = seq, now
	}
	if c.write != nil && c.second == 0 {
		c.second = seq
	}
	return first
}

// covered notes that the snapshot whose write began last is stored.
func (c *coverage) covered(rev uint64, unsent bool) {
	c.rev, c.unsent = rev, unsent
	c.first, c.second = c.second, 0
}

// dirty reports whether the session needs another snapshot: for its state, or
// because its snapshot has unsent events that are stored now. The next owner of
// the partition would load the session for these.
func (s *resident) dirty() bool {
	return s.snapshot.first != 0 || s.snapshot.unsent && len(s.log.queue) == 0
}

// unsaved reports whether the session needs another snapshot now or when what is under
// way is stored, or has events that are not stored.
func (s *resident) unsaved() bool {
	return s.snapshot.first != 0 || s.snapshot.unsent || s.snapshot.write != nil || len(s.log.queue) > 0
}

// idle reports whether the stored snapshot and events have all of the session.
func (s *resident) idle() bool {
	return !s.dirty() && s.snapshot.write == nil && len(s.log.queue) == 0 && !s.log.reading
}

// header returns the headers of the session's snapshot, which a listing reads
// without the snapshot.
func (s *resident) header(timer session.Timer, set bool) snapshot.Header {
	h := snapshot.Header{
		Input: s.state.N, At: s.at, Head: s.log.id, Last: s.log.lastType(),
		Open: s.state.Life.Open(), Unsent: len(s.log.queue),
	}
	if set {
		h.Timer = timer.At
		if life := &s.state.Life; life.Stored != 0 {
			h.Time = life.Time
		}
	}
	return h
}

// encode returns the stored form of the session as it is now.
func (s *resident) encode(e *snapshot.Encoder) ([]byte, error) {
	l := &s.log
	r := snapshot.Record{Head: snapshot.Point{Seq: l.seq, ID: l.id}, Base: l.base, Events: make([]*snapshot.Event, 0, len(l.acked)+len(l.queue))}
	for _, of := range [...][]*outgoing{l.acked, l.queue} {
		for _, o := range of {
			r.Events = append(r.Events, &o.Event)
		}
	}
	data, err := e.Encode(s.state, r)
	if err != nil {
		return nil, fmt.Errorf("worker: session %q: %w", s.token, err)
	}
	return data, nil
}
