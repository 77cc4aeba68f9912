package worker

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	"streamer/internal/events"
)

// knownTokens remembers of which sessions something may be stored, in 8 bytes
// each. One that is not among them needs no read.
type knownTokens struct {
	seed   maphash.Seed
	hashes map[uint64]struct{}
	whole  bool // none is missing that was saved before it was filled
}

func newKnownTokens() knownTokens {
	return knownTokens{seed: maphash.MakeSeed(), hashes: map[uint64]struct{}{}}
}

// has reports whether something may be stored of a session.
func (k *knownTokens) has(token string) bool {
	if !k.whole {
		return true
	}
	_, ok := k.hashes[maphash.String(k.seed, token)]
	return ok
}

func (k *knownTokens) add(token string) { k.hashes[maphash.String(k.seed, token)] = struct{}{} }

// evicted is where a session stood when it left memory: the end of its chain
// need not be read while the connection lasts.
type evicted struct {
	rev, chain, epoch uint64
	id                events.ID
	found             found
}

// maxEvicted bounds how many places a partition remembers.
const maxEvicted = 1 << 13

// remember notes where a session stands that leaves memory.
func (q *partition) remember(l *live) {
	if len(q.evicted) >= maxEvicted {
		clear(q.evicted)
	}
	q.evicted[l.token] = evicted{l.rev, l.chain, l.epoch, l.id, l.found}
}

// checkFresh loads sessions again that were taken to be new and gave no event
// that would show it, before a snapshot says so.
func (q *partition) checkFresh(ctx context.Context, than time.Time) error {
	for _, l := range q.live {
		if l.fresh && l.first != 0 && len(l.queue) == 0 && !l.since.After(than) {
			if err := q.conflicted(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

// conflicted loads a session again that was taken to be new, and is not. Its
// inputs up to the position are folded on what is stored of it.
func (q *partition) conflicted(ctx context.Context, l *live) error {
	q.drop(l)
	_, err := q.loadFrom(ctx, l.token, true)
	if errors.Is(err, errHeld) { // what was folded of it is only in its inputs
		q.held[l.token].first = q.mark.Seq
		return nil
	}
	return err
}
