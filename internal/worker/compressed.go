package worker

import (
	"slices"
	"sync/atomic"
	"time"

	"streamer/internal/snapshot"
)

// compressed is a session that left memory, in the form of its snapshot. It is used
// in place of the stored one while the connection lasts, as a resident session is:
// where another worker wrote something meanwhile, the condition of the next write
// does not hold.
type compressed struct {
	place
	at   time.Time // when its last input was stored
	data []byte
	no   uint64
}

// compressedCost is the memory of a compressed session in bytes besides its data.
const compressedCost = 256

// compressedSessions are those of a partition. When all partitions of the worker
// have more bytes than they may, a partition forgets those that left memory first.
type compressedSessions struct {
	of      map[string]*compressed // by token
	order   []compressedEntry      // may have some that hold no more
	last    uint64                 // number of the session that was added last
	encoder snapshot.Encoder
	bytes   int           // of this partition
	all     *atomic.Int64 // bytes of all partitions
	most    int64         // Options.MaxCompressed
}

// compressedEntry is the place of a session in the order in which they left memory.
type compressedEntry struct {
	token string
	no    uint64
}

// add adds a session that leaves memory, if nothing about it is uncertain.
func (c *compressedSessions) add(s *resident) {
	l := &s.log
	if c.most < 0 || s.fresh || s.snapshot.rev == 0 || l.stuck || l.found != (found{}) || l.id.After(idOf(s)) {
		return
	}
	data, err := s.encode(&c.encoder)
	if err != nil {
		return // its snapshot is read then
	}
	c.remove(s.token)
	c.last++
	e := &compressed{place: placeOf(s), at: s.at, data: data, no: c.last}
	c.of[s.token] = e
	c.order = append(c.order, compressedEntry{s.token, e.no})
	c.count(s.token, e, 1)
	c.trim()
	if len(c.order) > 2*len(c.of)+staleCompressed {
		c.order = slices.DeleteFunc(c.order, c.stale)
	}
}

// staleCompressed is how many entries that hold no more the order may have for any
// number of sessions.
const staleCompressed = 64

// stale reports whether an entry holds no more.
func (c *compressedSessions) stale(o compressedEntry) bool {
	e := c.of[o.token]
	return e == nil || e.no != o.no
}

// trim forgets the sessions that are too many.
func (c *compressedSessions) trim() {
	for len(c.order) > 0 {
		first := c.order[0]
		stale := c.stale(first)
		if !stale && c.all.Load() <= c.most {
			return
		}
		c.order[0] = compressedEntry{}
		c.order = c.order[1:]
		if !stale {
			c.remove(first.token)
		}
	}
}

// count adds the bytes of a session n times.
func (c *compressedSessions) count(token string, e *compressed, n int) {
	size := n * (len(e.data) + 2*len(token) + compressedCost)
	c.bytes += size
	c.all.Add(int64(size))
}

func (c *compressedSessions) remove(token string) {
	if e := c.of[token]; e != nil {
		delete(c.of, token)
		c.count(token, e, -1)
	}
}

// clear forgets all sessions.
func (c *compressedSessions) clear() {
	c.all.Add(int64(-c.bytes))
	c.of, c.order, c.bytes = map[string]*compressed{}, nil, 0
}

// take returns a session as it was when it left memory, nil if it is not there or is
// of another connection epoch.
func (c *compressedSessions) take(token string, epoch func() uint64) *resident {
	e := c.of[token]
	if e == nil {
		return nil
	}
	c.remove(token)
	if e.epoch != epoch() {
		return nil
	}
	rec, state, err := snapshot.Load(e.data)
	if err != nil {
		return nil
	}
	now := time.Now()
	s := &resident{token: token, state: state, touched: now, known: now, at: e.at}
	s.snapshot.rev = e.rev
	s.log = eventLog{seq: e.seq, id: e.id, epoch: e.epoch, base: rec.Base}
	for _, e := range rec.Events {
		s.log.acked = append(s.log.acked, &outgoing{Event: *e, session: s, at: now})
	}
	return s
}
