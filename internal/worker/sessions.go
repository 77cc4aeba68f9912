package worker

import (
	"hash/maphash"

	"streamer/internal/events"
)

// sessions are those of a partition: the resident ones, and what is remembered of
// the others.
type sessions struct {
	resident map[string]*resident // by token
	open     map[string]int       // open calls of non-resident sessions, by token
	known    knownTokens
	evicted  map[string]place // where sessions stood when they left memory
}

func newSessions() sessions {
	return sessions{resident: map[string]*resident{}, open: map[string]int{}, known: newKnownTokens(), evicted: map[string]place{}}
}

// add makes a session resident.
func (m *sessions) add(s *resident) {
	m.resident[s.token] = s
	delete(m.open, s.token)
	delete(m.evicted, s.token)
}

// knownTokens are the sessions of which something may be stored, in 8 bytes each.
// One that is not among them needs no read.
type knownTokens struct {
	seed     maphash.Seed
	hashes   map[uint64]struct{}
	complete bool // it has all sessions that had a snapshot before the worker began
}

func newKnownTokens() knownTokens {
	return knownTokens{seed: maphash.MakeSeed(), hashes: map[uint64]struct{}{}}
}

// has reports whether something may be stored of a session.
func (k *knownTokens) has(token string) bool {
	if !k.complete {
		return true
	}
	_, ok := k.hashes[maphash.String(k.seed, token)]
	return ok
}

func (k *knownTokens) add(token string) { k.hashes[maphash.String(k.seed, token)] = struct{}{} }

// place is where a session stood when it left memory: the head of its event log
// need not be read while the connection lasts.
type place struct {
	rev, seq, epoch uint64
	id              events.ID
	found           found
}

// maxPlaces bounds how many places a partition remembers.
const maxPlaces = 1 << 13

// remember notes where a session stands that leaves memory.
func (m *sessions) remember(s *resident) {
	if len(m.evicted) >= maxPlaces {
		clear(m.evicted)
	}
	l := &s.log
	m.evicted[s.token] = place{s.snapshot.rev, l.seq, l.epoch, l.id, l.found}
}
