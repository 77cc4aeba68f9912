package tap

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// The ends of a copied body other than io.EOF.
var (
	errCut  = errors.New("the upstream cut the answer")
	errLeft = errors.New("the client left")
	errLost = errors.New("a part of the copy is lost")
)

// Bounds of the bytes of copies that wait to be published.
const (
	maxRequest = 32 << 20 // of a request
	maxWaiting = 32 << 20 // of an answer
	maxMemory  = 96 << 20 // of all
)

// Bounds of the bytes of answers that are kept while they arrive.
const (
	maxKept    = 4 << 20 // of an answer
	maxAllKept = 64 << 20
)

// queue is the copy of a body on its way from the proxy, which never waits, to the exchange
// that reads it.
type queue struct {
	max     int
	memory  *atomic.Int64 // bytes of all queues
	allKept *atomic.Int64 // bytes that all queues keep

	mu   sync.Mutex
	wake chan struct{} // has a value when there is something new to read
	data []byte
	end  error  // why nothing follows data, nil if something may
	lost int    // bytes that did not fit
	kept []byte // all bytes, for the end of an answer under way; nil if they are too many
	over bool   // they are
}

func newQueue(limit int, memory, kept *atomic.Int64) *queue {
	return &queue{max: limit, memory: memory, allKept: kept, wake: make(chan struct{}, 1)}
}

// write adds bytes. Those that do not fit are lost, and everything behind them.
func (q *queue) write(p []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keep(p)
	switch {
	case errors.Is(q.end, errLost):
		q.lost += len(p)
		return
	case q.end != nil:
		return
	case len(q.data)+len(p) > q.max || !reserve(q.memory, len(p)):
		q.lost += len(p)
		q.end = errLost
	default:
		q.data = append(q.data, p...)
	}
	q.signal()
}

// keep adds bytes to those that are kept. If they do not fit, none are.
func (q *queue) keep(p []byte) {
	if q.over {
		return
	}
	q.kept = append(q.kept, p...)
	if q.allKept.Add(int64(len(p))) > maxAllKept || len(q.kept) > maxKept {
		q.forget()
	}
}

// forget keeps nothing from now on.
func (q *queue) forget() {
	q.allKept.Add(-int64(len(q.kept)))
	q.kept, q.over = nil, true
}

// close ends the queue, unless it has ended.
func (q *queue) close(end error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end == nil {
		q.end = end
		q.signal()
	}
}

// drop ends the queue and forgets what waits.
func (q *queue) drop() {
	q.close(errLost)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.memory.Add(-int64(len(q.data)))
	q.data = nil
	q.forget()
}

// ended reports whether nothing follows, and how many bytes are lost.
func (q *queue) ended() (bool, int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end != nil, q.lost
}

// empty reports whether nothing waits, and something may follow.
func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.data) == 0 && q.end == nil
}

// reason returns why nothing follows, nil if something may.
func (q *queue) reason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.end
}

// copied returns all bytes that were written. It reports false where they were too many.
func (q *queue) copied() ([]byte, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept, !q.over
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Read returns what waits, at least one byte, or the end.
func (q *queue) Read(p []byte) (int, error) {
	for {
		q.mu.Lock()
		n, end := copy(p, q.data), q.end
		q.memory.Add(-int64(n))
		if q.data = q.data[n:]; len(q.data) == 0 {
			q.data = nil
		}
		q.mu.Unlock()
		switch {
		case n > 0 || len(p) == 0:
			return n, nil
		case end != nil:
			return 0, end
		}
		<-q.wake
	}
}

// copied is a body whose bytes go to a copy as well.
type copied struct {
	io.ReadCloser
	to interface {
		write(p []byte)
		close(end error)
	}
	// fail returns the end of the copy for an error of reading, or for a body that is
	// closed before its end (nil).
	fail func(err error) error
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 {
		c.to.write(p[:n])
	}
	return c.passed(n, err)
}

// passed ends the copy where reading ended, and returns its arguments.
func (c *copied) passed(n int, err error) (int, error) {
	switch {
	case errors.Is(err, io.EOF):
		c.to.close(io.EOF)
	case err != nil:
		c.to.close(c.fail(err))
	}
	return n, err
}

func (c *copied) Close() error {
	c.to.close(c.fail(nil))
	return c.ReadCloser.Close()
}
