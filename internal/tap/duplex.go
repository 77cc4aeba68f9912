package tap

import (
	"slices"
	"sync"
	"sync/atomic"
)

// The directions of a connection.
const (
	fromClient = 0
	fromServer = 1
)

// duplex is the copy of both directions of a connection on its way from the proxy, which
// never waits, to their two readers. Bytes are read in the order in which they passed: a
// direction is read when the reader of the other one has handled what passed before, and
// waits.
type duplex struct {
	memory *atomic.Int64 // bytes of all queues

	mu       sync.Mutex
	wake     sync.Cond
	segments []segment
	waiting  [2]bool // the reader has handled what it read
	dropped  [2]bool // there is no reader
	ends     [2]error
	bytes    int // of segments
}

// segment is a part of a direction, or its end.
type segment struct {
	direction int
	data      []byte
	end       error
}

func newDuplex(memory *atomic.Int64) *duplex {
	d := &duplex{memory: memory}
	d.wake.L = &d.mu
	return d
}

// write adds bytes of a direction. Where they do not fit, both directions end.
func (d *duplex) write(direction int, p []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ends[direction] != nil || d.dropped[direction] || len(p) == 0:
	case d.bytes+len(p) > maxRequest || !reserve(d.memory, len(p)):
		d.end(fromClient, errLost)
		d.end(fromServer, errLost)
	default:
		d.segments = append(d.segments, segment{direction: direction, data: slices.Clone(p)})
		d.bytes += len(p)
		d.wake.Broadcast()
	}
}

func (d *duplex) add(n int) {
	d.bytes += n
	d.memory.Add(int64(n))
}

// close ends a direction, unless it has ended.
func (d *duplex) close(direction int, end error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(direction, end)
}

func (d *duplex) end(direction int, end error) {
	if d.ends[direction] == nil {
		d.ends[direction] = end
		d.segments = append(d.segments, segment{direction: direction, end: end})
		d.wake.Broadcast()
	}
}

// drop records that a direction has no reader.
func (d *duplex) drop(direction int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropped[direction] = true
	d.skip()
	d.wake.Broadcast()
}

// skip forgets the first segments whose direction has no reader.
func (d *duplex) skip() {
	for len(d.segments) > 0 && d.dropped[d.segments[0].direction] {
		d.add(-len(d.segments[0].data))
		d.segments = d.segments[1:]
	}
}

// reason returns why nothing follows in a direction, nil if something may.
func (d *duplex) reason(direction int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ends[direction]
}

// side reads a direction.
type side struct {
	*duplex
	direction int
}

func (s side) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[s.direction] = true
	s.wake.Broadcast()
	other := 1 - s.direction
	for {
		s.skip()
		if len(s.segments) > 0 && s.segments[0].direction == s.direction && (s.waiting[other] || s.dropped[other]) {
			break
		}
		s.wake.Wait()
	}
	first := &s.segments[0]
	if first.end != nil {
		return 0, first.end
	}
	n := copy(p, first.data)
	if first.data = first.data[n:]; len(first.data) == 0 {
		s.segments = s.segments[1:]
	}
	s.add(-n)
	s.waiting[s.direction] = false
	return n, nil
}

// settle waits until the reader of a direction has handled all that was written.
func (d *duplex) settle(direction int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.dropped[direction] && d.ends[direction] == nil && (!d.waiting[direction] || slices.ContainsFunc(d.segments, func(s segment) bool { return s.direction == direction })) {
		d.wake.Wait()
	}
}
