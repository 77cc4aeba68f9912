package eventlog

import (
	"context"
	"sync"

	"streamer/internal/broker"
)

// Limits of the histories that tails share.
const (
	sharedHistory  = 8 << 20  // bytes of one
	sharedEverHeld = 64 << 20 // bytes of all
	entryBytes     = 256      // of an entry besides its data
)

// sharing are the histories that several tails of a session read at the same time, as
// after a restart of a gateway whose clients return at once. The first tail reads for
// itself, without holding anything; the others share one read.
type sharing struct {
	mu   sync.Mutex
	of   map[sharingKey]*sharedRead
	held int // bytes of all
}

// sharingKey is a group of tails. Those that read the whole history of a session do
// not share with those that resume, which usually need only its end.
type sharingKey struct {
	token string
	whole bool
}

// sharedRead is the history of one session, while tails read it.
type sharedRead struct {
	tails   int
	started bool
	after   uint64 // the entries follow this sequence
	epoch   uint64
	stop    context.CancelFunc
	done    chan struct{} // closed when the entries are complete
	entries []Entry       // a beginning of the history, as long as the limits permit
	bytes   int
}

// enter returns a beginning of the history of a session after a sequence, without a
// gap, or nothing if no other tail reads it now. The rest is in the log. The caller
// calls leave when it has read the history.
func (l *Log) enter(ctx context.Context, token string, after uint64) (entries []Entry, leave func()) {
	s, key := &l.sharing, sharingKey{token, after == 0}
	s.mu.Lock()
	r := s.of[key]
	if r == nil {
		r = &sharedRead{stop: func() {}}
		if s.of == nil {
			s.of = map[sharingKey]*sharedRead{}
		}
		s.of[key] = r
	} else if !r.started {
		r.started, r.after, r.epoch, r.done = true, after, l.b.Epoch(), make(chan struct{})
		reading, stop := context.WithCancel(context.WithoutCancel(ctx)) // it is not this tail's alone
		r.stop = stop
		go l.readShared(reading, token, r) // leave waits for it
	}
	r.tails++
	// Events that were read on another connection may have been lost with its server.
	usable := r.started && r.after <= after && r.epoch == l.b.Epoch()
	s.mu.Unlock()
	if usable {
		select {
		case <-r.done:
			entries = r.entries
		case <-ctx.Done():
		}
	}
	return entries, func() { s.leave(key, r) }
}

// leave removes a tail, and the history with the last one.
func (s *sharing) leave(key sharingKey, r *sharedRead) {
	s.mu.Lock()
	r.tails--
	last := r.tails == 0
	if last {
		delete(s.of, key)
	}
	s.mu.Unlock()
	if last && r.started {
		r.stop()
		<-r.done
		s.hold(-r.bytes)
	}
}

// hold changes the number of bytes of all histories, unless that would exceed the
// limit.
func (s *sharing) hold(bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes > 0 && s.held+bytes > sharedEverHeld {
		return false
	}
	s.held += bytes
	return true
}

// readShared reads the history of a session. What it does not read, because of a limit
// or an error, each tail reads for itself.
func (l *Log) readShared(ctx context.Context, token string, r *sharedRead) {
	defer close(r.done)
	_ = l.Entries(ctx, token, r.after, func(e Entry) error {
		size := len(e.Data) + entryBytes
		if r.bytes+size > sharedHistory || !l.sharing.hold(size) {
			return broker.ErrStop
		}
		r.bytes += size
		r.entries = append(r.entries, e)
		return nil
	})
}
