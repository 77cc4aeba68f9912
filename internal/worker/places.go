package worker

import (
	"hash/maphash"

	"streamer/internal/events"
)

// place is where a session stood when it left memory: the head of its event log
// need not be read while the connection lasts and rev is the revision of its
// snapshot.
type place struct {
	rev, seq, epoch uint64
	id              events.ID
}

func placeOf(s *resident) place {
	l := &s.log
	return place{rev: s.snapshot.rev, seq: l.seq, epoch: l.epoch, id: l.id}
}

// idOf returns the greatest id that an event of the inputs of a session can have
// that were folded.
func idOf(s *resident) events.ID { return events.ID{Seq: s.state.N, N: 1<<31 - 1} }

// maxPlaces bounds the places of a partition: a million in 16 partitions. Each takes
// about 100 bytes.
const maxPlaces = 1 << 16

// places are those of the sessions that left memory last, by the hash of the token.
// Where two tokens have one hash, the revision shows whose a place is: a snapshot
// has a revision of its own. The zero value is not ready to use.
type places struct {
	seed          maphash.Seed
	recent, older map[uint64]place // recent becomes older when it is full
}

func newPlaces() places {
	return places{seed: maphash.MakeSeed(), recent: map[uint64]place{}}
}

// add notes where a session stands that leaves memory.
func (m *places) add(s *resident) {
	h := maphash.String(m.seed, s.token)
	if s.log.found != (found{}) || s.snapshot.rev == 0 {
		m.remove(s.token) // the head is read again and compared
		return
	}
	if len(m.recent) >= maxPlaces/2 {
		m.recent, m.older = map[uint64]place{}, m.recent
	}
	m.recent[h] = placeOf(s)
}

// of returns the place of a session.
func (m *places) of(token string) (p place, ok bool) {
	h := maphash.String(m.seed, token)
	if p, ok = m.recent[h]; !ok {
		p, ok = m.older[h]
	}
	return p, ok
}

func (m *places) remove(token string) {
	h := maphash.String(m.seed, token)
	delete(m.recent, h)
	delete(m.older, h)
}

// clear forgets all places.
func (m *places) clear() { m.recent, m.older = map[uint64]place{}, nil }
