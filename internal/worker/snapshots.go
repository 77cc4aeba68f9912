package worker

import (
	"fmt"
	"time"

	"streamer/internal/broker"
	"streamer/internal/session"
	"streamer/internal/snapshot"
)

// snapshotWrite is the writing of a snapshot that is under way. Its blobs are
// written first.
type snapshotWrite struct {
	began   time.Time
	session *resident
	pub     *broker.Pub
	blobs   int
	bytes   int
	n       uint64 // number of the last input in the snapshot
	unsent  bool   // the snapshot has events that are not stored yet
}

// The snapshot of a session that still receives inputs is soon outdated: it is
// written only each snapshotBusy times SnapshotEvery, so that most calls are saved
// once, when they have ended. The first snapshot of a session is not delayed, because
// sessions are listed by their snapshots. In a partition that is snapshotLate behind,
// as after an outage, or that has snapshotQueued bytes of events that are not stored
// yet, all sessions count as receiving inputs: fold and events need the time.
const (
	snapshotBusy   = 4
	snapshotLate   = time.Second
	snapshotQueued = 16 << 10
	// snapshotUnsent is how many times SnapshotEvery a snapshot is put off for events
	// that are not stored yet.
	snapshotUnsent = 7
)

// maxWriting bounds the bytes of snapshots of a partition that are being written:
// after a burst all sessions change at once, and each snapshot is held until it
// is acknowledged. Each counts writeCost bytes besides its own.
const (
	maxWriting = 1 << 20
	writeCost  = 1 << 10 // headers and bookkeeping
)

// snapshotWriter writes the snapshots of a partition.
type snapshotWriter struct {
	reports
	out       *publisher
	messages  Messages
	stored    Snapshots
	reads     *operations
	every     time.Duration // SnapshotEvery
	rules     *session.RulesLog
	history   *history
	keepAcked time.Duration
	encoder   snapshot.Encoder
	newest    uint64 // highest revision of a snapshot that is known to be stored
	changed   changedSessions

	writing, bytes int // snapshots under way, and their size
}

// due reports whether a session that changed before than needs a snapshot.
func (w *snapshotWriter) due(s *resident, than, now time.Time) bool {
	c := &s.snapshot
	if !s.dirty() || c.write != nil || c.since.After(than) || s.fresh {
		return false
	}
	if !than.Before(now) {
		return true
	}
	if c.rev != 0 && s.touched.After(than) && c.since.After(now.Add(-snapshotBusy*w.every)) {
		return false
	}
	// When its events are stored, one snapshot is enough.
	return len(s.log.queue) == 0 || !c.since.After(than.Add(-snapshotUnsent*w.every))
}

// full reports whether no more snapshots are written before others are stored.
func (w *snapshotWriter) full() bool { return w.bytes >= maxWriting }

// begin begins to write the snapshot of a session.
func (w *snapshotWriter) begin(s *resident, now time.Time) {
	s.log.trim(now, w.keepAcked)
	s.snapshot.since = now
	w.changed.add(s)
	write := &snapshotWrite{session: s, began: now, n: s.state.N, unsent: len(s.log.queue) > 0}
	data, err := s.encode(&w.encoder)
	if err != nil {
		w.logger.Error().Err(err).Str("session", s.token).Msg("snapshot cannot be written")
		return
	}
	header := s.header(s.state.Timer(w.rules.InForce()))
	header.Rewinds = w.history.rewinds
	var blobs []*broker.Pub
	write.pub, blobs = w.messages.SnapshotPub(w.partition, s.token, s.snapshot.rev, header.Map(), data)
	write.pub.Key, write.pub.Epoch = write, w.out.out.Epoch()
	write.blobs, write.bytes = len(blobs), len(data)+writeCost
	s.snapshot.write, s.snapshot.second = write, 0
	w.writing++
	w.bytes += write.bytes
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
	w.writing--
	w.bytes -= write.bytes
	write.session.snapshot.write = nil
}

// blobStored takes the outcome of storing a piece of a large snapshot.
func (w *snapshotWriter) blobStored(write *snapshotWrite, err error) error {
	if err != nil {
		return fmt.Errorf("worker: session %q: storing a blob of its snapshot: %w", write.session.token, err)
	}
	if write.blobs--; write.blobs == 0 {
		w.out.publish(write.pub)
	}
	return nil
}

// acked notes that a snapshot is stored.
func (w *snapshotWriter) acked(write *snapshotWrite, rev uint64) {
	w.end(write)
	w.status.snapshots.Add(1)
	w.observer.SnapshotStored(time.Since(write.began))
	w.newest = max(w.newest, rev)
	write.session.snapshot.covered(rev, write.unsent)
}
