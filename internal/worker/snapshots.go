package worker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"streamer/internal/broker"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// snapshotWrite is a snapshot that was taken. It is stored when what it covers must be on
// the disk of the server, its blobs first. It covers the session when it must be there too.
type snapshotWrite struct {
	began   time.Time // when it was taken
	session *resident
	header  snapshot.Header
	data    []byte
	n       uint64    // the last input that it covers
	head    point     // the last event; its sequence is not known before it is stored
	durable time.Time // when what it covers must be on the disk; zero until head is stored
	sent    bool
	pub     *broker.Pub
	blobs   int       // under way
	rev     uint64    // of what is stored
	acked   time.Time // when that was known to be stored; zero before
}

// The snapshot of a session that still receives inputs is soon outdated: it is taken only
// each snapshotBusy times SnapshotEvery, so that most calls are saved once, when they have
// ended. The first snapshot of a session is not delayed, because sessions are listed by
// their snapshots. In a partition that is snapshotLate behind, as after an outage, or that
// has snapshotQueued bytes of events that are not stored yet, all sessions count as
// receiving inputs: fold and events need the time.
const (
	snapshotBusy   = 4
	snapshotLate   = time.Second
	snapshotQueued = 16 << 10
)

// maxTaken bounds the bytes of snapshots of a partition that are taken and not stored:
// after a burst all sessions change at once. Each counts takenCost bytes besides its own.
const (
	maxTaken  = 2 << 20
	takenCost = 1 << 10 // headers and bookkeeping
)

// snapshotWriter takes and stores the snapshots of a partition. A snapshot that survives
// a power loss must not cover an event or an input that does not: it is stored only when
// they have been stored for a while.
type snapshotWriter struct {
	reports
	out      *publisher
	messages Messages
	every    time.Duration // SnapshotEvery
	keep     time.Duration // DurableAfter
	rules    *session.RulesLog
	checked  *logChecks
	encoder  snapshot.Encoder
	changed  changedSessions
	taken    []*snapshotWrite // that have not ended, and some that have; oldest first
	bytes    int              // of those that are not stored
	newest   uint64           // revision of those that ended
}

// store takes and stores snapshots, unless the logs may have lost what these cover.
func (q *partition) store(late bool, now time.Time) {
	if q.checked.epoch == q.log.Epoch() {
		q.snapshots.tick(late, now)
	}
}

// tick takes the snapshots that are due and stores those that may be. late says that fold
// and events need the time.
func (w *snapshotWriter) tick(late bool, now time.Time) {
	age := w.every
	if late {
		age *= snapshotBusy
	}
	w.changed.take(now.Add(-w.every), func(s *resident) (keep bool) {
		if w.bytes < maxTaken && w.due(s, age, now) {
			w.take(s, now) // which adds it again
			return false
		}
		return s.unsaved()
	})
	w.taken = slices.DeleteFunc(w.taken, func(write *snapshotWrite) bool {
		switch {
		case write.session.snapshot.write != write: // it has ended
		case write.acked.IsZero():
			if !write.sent && !write.durable.IsZero() && (w.keep == 0 || !write.durable.After(now)) {
				w.send(write)
			}
		case w.keep == 0 || now.Sub(write.acked) >= w.keep:
			w.finish(write)
		}
		return write.session.snapshot.write != write
	})
}

func (w *snapshotWriter) due(s *resident, age time.Duration, now time.Time) bool {
	c, l := &s.snapshot, &s.log
	if !s.dirty() || c.write != nil || s.loading || l.stuck || len(l.ahead) > 0 {
		return false
	}
	if len(l.queue) == 0 && !w.durable(s).After(now) {
		return true
	}
	if c.rev != 0 {
		age = snapshotBusy * w.every
	}
	return !c.since.After(now.Add(-age))
}

// durable returns when all inputs and stored events of a session must be on the disk.
func (w *snapshotWriter) durable(s *resident) time.Time {
	last := s.touched
	if s.log.acked.After(last) {
		last = s.log.acked
	}
	return last.Add(w.keep)
}

func (w *snapshotWriter) take(s *resident, now time.Time) {
	l := &s.log
	s.snapshot.since = now
	w.changed.add(s)
	data, err := w.encoder.Encode(s.state)
	if err != nil {
		w.logger.Error().Err(err).Str("session", s.token).Msg("cannot write snapshot")
		return
	}
	write := &snapshotWrite{session: s, began: now, n: s.state.N, head: point{l.seq, l.id}, data: data}
	write.header = s.header(s.state.Timer(w.rules.InForce()))
	if n := len(l.queue); n > 0 {
		write.head = point{ID: l.queue[n-1].ID}
	} else {
		write.durable = w.durable(s)
	}
	s.snapshot.write, s.snapshot.second = write, 0
	w.bytes += len(data) + takenCost
	w.taken = append(w.taken, write)
}

// headStored notes that an event of a session was stored.
func (w *snapshotWriter) headStored(s *resident, head point, now time.Time) {
	if write := s.snapshot.write; write != nil && write.head.ID == head.ID {
		write.head, write.durable = head, now.Add(w.keep)
	}
}

// send publishes a snapshot, its blobs first.
func (w *snapshotWriter) send(write *snapshotWrite) {
	s := write.session
	write.header.Head, write.header.HeadSeq = write.head.ID, write.head.Seq
	var blobs []*broker.Pub
	write.pub, blobs = w.messages.SnapshotPub(w.partition, s.token, s.snapshot.rev, write.header.Map(), write.data)
	write.pub.Key, write.pub.Epoch = write, w.checked.epoch
	write.sent, write.blobs = true, len(blobs)
	for _, b := range blobs {
		b.Key = write
		w.out.publish(b)
	}
	if write.blobs == 0 {
		w.out.publish(write.pub)
	}
}

// end notes that a write is over, whatever its outcome.
func (w *snapshotWriter) end(write *snapshotWrite) {
	w.release(write)
	write.session.snapshot.write = nil
}

func (w *snapshotWriter) release(write *snapshotWrite) {
	if write.acked.IsZero() {
		w.bytes -= len(write.data) + takenCost
	}
	write.data = nil
}

// finish ends a write that must be on the disk. Where the connection was lost meanwhile the
// server may have lost it, and the session is saved again.
func (w *snapshotWriter) finish(write *snapshotWrite) {
	w.end(write)
	if c := &write.session.snapshot; write.pub.Epoch == w.checked.epoch {
		c.advance(write.rev, write.n)
		w.newest = max(w.newest, write.rev)
	} else {
		c.second = 0
	}
}

// writeDone takes the outcome of storing a snapshot or a piece of it. Where it was refused, another
// worker stored one, or a try of this one whose acknowledgement was lost: the session has to
// be loaded again.
func (w *snapshotWriter) writeDone(write *snapshotWrite, a broker.Ack) (refused bool, err error) {
	s := write.session
	switch {
	case s.gone || s.snapshot.write != write:
	case errors.Is(a.Err, broker.ErrConflict) && a.Pub == write.pub:
		w.status.snapshotConflicts.Add(1)
		w.end(write)
		return true, nil
	case a.Err != nil:
		return false, fmt.Errorf("worker: session %q: storing its snapshot: %w", s.token, a.Err)
	case a.Pub != write.pub:
		if write.blobs--; write.blobs == 0 {
			w.out.publish(write.pub)
		}
	default:
		w.release(write)
		write.acked, write.rev = time.Now(), a.Seq
		w.status.snapshots.Add(1)
		w.observer.SnapshotStored(time.Since(write.began))
	}
	return false, nil
}
