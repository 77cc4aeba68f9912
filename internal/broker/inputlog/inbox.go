package inputlog

import (
	"sync"

	"streamer/internal/broker"
)

// Limits of an inbox. A part that alone exceeds them is accepted where the inbox
// has no inputs.
const (
	inboxInputs = 500
	inboxBytes  = 2 << 20
)

// part is a partition's share of consecutive inputs.
type part struct {
	batch    []broker.Message
	next     uint64 // the partition has no other input below this
	read     broker.Witness
	caughtUp bool // nothing more was waiting at the server
}

// inbox is the bounded queue of a member. It joins the parts that wait in it into
// one. The shared reader puts, the partition takes.
type inbox struct {
	ready chan struct{} // something can be taken, or the inbox is closed
	room  chan struct{} // something was taken

	mu     sync.Mutex
	next   uint64 // every input below it was put, or is not needed
	held   part   // its next is 0 where nothing waits
	bytes  int    // of held
	spare  []broker.Message
	closed bool
}

// newInbox returns an inbox that leaves out inputs below next.
func newInbox(next uint64) *inbox {
	return &inbox{ready: make(chan struct{}, 1), room: make(chan struct{}, 1), next: next}
}

// put adds a part. It reports false, and adds nothing, if the inbox is full. The
// slice of p is not kept.
func (b *inbox) put(p part) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := p.batch
	for len(batch) > 0 && batch[0].Seq < b.next { // read again for another member
		batch = batch[1:]
	}
	bytes := 0
	for i := range batch {
		bytes += len(batch[i].Data)
	}
	if n := len(b.held.batch); n > 0 && len(batch) > 0 && (n+len(batch) > inboxInputs || b.bytes+bytes > inboxBytes) {
		return false
	}
	if p.next < b.next {
		return true
	}
	b.held.batch = append(b.held.batch, batch...)
	b.held.next, b.held.caughtUp = p.next, p.caughtUp
	if p.read.Seq > 0 {
		b.held.read = p.read
	}
	b.next = p.next
	b.bytes += bytes
	signal(b.ready)
	return true
}

// take returns what waits, zero if nothing does, and whether the inbox is closed,
// so that nothing follows. The slice is reused after the next call.
func (b *inbox) take() (p part, closed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p = b.held
	clear(b.spare) // or the messages could not be freed
	b.held = part{batch: b.spare[:0]}
	b.spare = p.batch
	b.bytes = 0
	signal(b.room)
	return p, b.closed
}

// close ends the inbox. What waits in it can still be taken.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	signal(b.ready)
}

// signal sends to a channel of capacity 1, unless a signal waits in it.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
