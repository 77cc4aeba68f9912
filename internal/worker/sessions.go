package worker

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"streamer/internal/broker"
)

// sessions are those of a partition: the resident ones, and what is remembered of
// the others.
type sessions struct {
	appender  *appender
	snapshots *snapshotWriter
	clock     *clock

	resident map[string]*resident // by token
	fresh    changedSessions      // those that were fresh when they changed first
	open     openCalls
	known    knownTokens
	places   places // of non-resident sessions
	// compressed are the sessions that left memory last.
	compressed compressedSessions
}

func newSessions(a *appender, w *snapshotWriter, c *clock) sessions {
	return sessions{
		appender: a, snapshots: w, clock: c,
		resident: map[string]*resident{}, open: openCalls{of: map[string]int{}}, known: newKnownTokens(), places: newPlaces(),
		compressed: compressedSessions{of: map[string]*compressed{}, all: new(atomic.Int64)},
	}
}

// attach makes a session resident and continues to append its events.
func (m *sessions) attach(s *resident) {
	m.resident[s.token] = s
	m.open.set(s.token, 0)
	m.open.count(s)
	m.known.set(s.token, s.snapshot.rev)
	m.places.remove(s.token)
	m.compressed.remove(s.token)
	m.appender.queued += s.log.bytes()
	if s.unsaved() {
		m.snapshots.changed.add(s)
	}
	m.clock.enter(s)
	m.appender.send(s)
}

// drop forgets a session that is in memory; it is loaded again on demand.
func (m *sessions) drop(s *resident) {
	s.gone = true
	m.known.set(s.token, s.snapshot.rev)
	if s.snapshot.write != nil {
		m.snapshots.end(s.snapshot.write)
	}
	m.appender.queued -= s.log.bytes()
	m.open.forget(s)
	delete(m.resident, s.token)
}

// retryRefused sends again what was refused: permissions and limits change.
func (m *sessions) retryRefused() {
	for _, s := range m.resident {
		if s.log.stuck {
			s.log.stuck = false
			m.appender.send(s)
		}
	}
}

// writeOlder writes snapshots of the sessions that changed before than, and
// reports whether some are left for want of room.
func (m *sessions) writeOlder(than, now time.Time) (left bool) {
	w := m.snapshots
	w.changed.take(than, func(s *resident) (keep bool) {
		due := w.due(s, than, now)
		if due && !w.full() {
			w.begin(s, now) // which adds it again
			return false
		}
		left = left || due
		return true
	})
	return left
}

// writeAll writes snapshots of all sessions that changed.
func (m *sessions) writeAll(now time.Time) (left bool) { return m.writeOlder(now, now) }

// uncovered returns the first input, if it is below seq, that has to be folded
// again for a resident session if the worker dies now.
func (m *sessions) uncovered(seq uint64, rewinds broker.Rewinds) uint64 {
	for s := range m.snapshots.changed.all {
		if s.snapshot.first != 0 {
			seq = min(seq, s.snapshot.first)
		}
		if n, ok := s.log.unsent(rewinds); ok {
			seq = min(seq, n)
		}
	}
	return seq
}

// aheadOfInputs reports whether a resident session has events of inputs that were
// not read yet. Loading it decides what they are.
func (m *sessions) aheadOfInputs() bool {
	for _, s := range m.resident {
		if s.log.id.Seq > s.state.N {
			return true
		}
	}
	return false
}

// evidence returns the last inputs that resident sessions folded.
func (m *sessions) evidence() []evidence {
	var known []evidence
	for _, s := range m.resident {
		if !s.at.IsZero() {
			known = append(known, evidence{n: s.state.N, token: s.token, at: s.at})
		}
	}
	return known
}

// openCalls counts the open calls of sessions.
type openCalls struct {
	of map[string]int // of the sessions that are not resident, by token
	n  int            // of all
}

// set notes the number of a session that is not resident.
func (o *openCalls) set(token string, n int) {
	o.n += n - o.of[token]
	if o.of[token] = n; n == 0 {
		delete(o.of, token)
	}
}

// count counts those of a resident session, after its state changed.
func (o *openCalls) count(s *resident) {
	n := s.state.Life.Open()
	o.n += n - s.open
	s.open = n
}

// forget removes a session that is not resident any more.
func (o *openCalls) forget(s *resident) {
	o.n -= s.open
	s.open = 0
}

// knownTokens are the sessions of which something may be stored, in 16 bytes each: a
// hash of the token, and the revision that the snapshot has at least. A session that is
// not among them needs no read.
type knownTokens struct {
	seed     maphash.Seed
	revs     map[uint64]uint64
	complete bool // it has all sessions that had a snapshot before the worker began
}

func newKnownTokens() knownTokens {
	return knownTokens{seed: maphash.MakeSeed(), revs: map[uint64]uint64{}}
}

// has reports whether something may be stored of a session.
func (k *knownTokens) has(token string) bool {
	if !k.complete {
		return true
	}
	_, ok := k.revs[maphash.String(k.seed, token)]
	return ok
}

// rev returns the revision that the snapshot of a session has at least, 0 if that is
// not known.
func (k *knownTokens) rev(token string) uint64 { return k.revs[maphash.String(k.seed, token)] }

// add adds a session whose snapshot was seen with a revision, which may be outdated.
func (k *knownTokens) add(token string, rev uint64) {
	h := maphash.String(k.seed, token)
	k.revs[h] = max(rev, k.revs[h])
}

// set notes the revision of the snapshot of a session that is in memory.
func (k *knownTokens) set(token string, rev uint64) { k.revs[maphash.String(k.seed, token)] = rev }
