package worker

import (
	"container/list"
	"sync/atomic"
	"time"

	"streamer/internal/events"
)

// A session of a partition is in its table at one of three levels. Using it raises the
// level, and eviction lowers it: an old live session is packed, and where memory is
// short, first the packed sessions become known, then the known ones are forgotten, and
// then more live ones are packed, each the least recently used first.
const (
	known  = iota // where it stood when it left memory, if that is known
	packed        // and its snapshot
	live          // its state
	levels
)

// Memory of a session in bytes, besides its token and its snapshot. That of a live one
// is a typical value.
const (
	entryCost = 256
	liveCost  = 3 << 10
)

// entry is a session in the table.
type entry struct {
	token string
	level int
	place place // zero if not known
	// data is the snapshot of a packed session, and at when its last input was stored.
	data []byte
	at   time.Time
	live *resident // nil while it is not live, or is being loaded
	open int       // calls
	// covered is the last input that the snapshot covers, of a session that was listed at
	// the takeover and not loaded since.
	covered uint64

	used time.Time // when it came to its level, or had its last input
	in   *list.Element
}

// place is where a session stood when it left memory: as long as rev is the revision
// of its snapshot, that covers all of the session, and as long as the connection lasts,
// nothing was appended to its event log.
type place struct {
	rev, epoch uint64
	head       point
}

// table has the sessions of a partition that are known.
type table struct {
	of       map[string]*entry
	order    [levels]*list.List // of entries, least recently used first; none that has a timer and is only known
	complete bool               // it has all sessions of which something may be stored
	open     int                // calls
	bytes    int64
	all      *atomic.Int64 // bytes of all partitions
}

func newTable(all *atomic.Int64) table {
	t := table{of: map[string]*entry{}, all: all}
	for i := range t.order {
		t.order[i] = list.New()
	}
	return t
}

func (t *table) live(token string) *resident {
	if e := t.of[token]; e != nil {
		return e.live
	}
	return nil
}

func (t *table) lives(yield func(*resident) bool) {
	for at := t.order[live].Front(); at != nil; at = at.Next() {
		if e := at.Value.(*entry); e.live != nil && !yield(e.live) {
			return
		}
	}
}

func (t *table) add(token string) *entry {
	e := t.of[token]
	if e == nil {
		e = &entry{token: token}
		t.of[token] = e
		t.count(e, 1)
		e.in = t.order[known].PushBack(e)
	}
	return e
}

func (t *table) move(e *entry, level int, now time.Time) {
	t.leave(e)
	t.count(e, -1)
	if level != packed {
		e.data = nil
	}
	e.level, e.used = level, now
	t.count(e, 1)
	e.in = t.order[level].PushBack(e)
}

func (t *table) leave(e *entry) {
	if e.in != nil {
		t.order[e.level].Remove(e.in)
		e.in = nil
	}
}

func (t *table) touch(e *entry, now time.Time) {
	e.used = now
	t.order[live].MoveToBack(e.in)
}

// forget removes a session. What is stored of it must be read when it returns.
func (t *table) forget(e *entry) {
	t.leave(e)
	t.count(e, -1)
	t.setOpen(e, 0)
	delete(t.of, e.token)
	t.complete = false
}

func (t *table) setOpen(e *entry, n int) {
	t.open += n - e.open
	e.open = n
}

func (t *table) count(e *entry, n int64) {
	size := entryCost + 2*len(e.token) + len(e.data)
	if e.level == live {
		size += liveCost
	}
	t.bytes += n * int64(size)
	t.all.Add(n * int64(size))
}

// clear releases the memory of all partitions that the table counts.
func (t *table) clear() { t.all.Add(-t.bytes) }

// point is a place in a session's event log: the sequence of a message, and the id of
// the last event up to it.
type point struct {
	Seq uint64
	ID  events.ID
}
