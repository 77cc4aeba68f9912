package tap

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// reserve adds n bytes to the memory of copies, and reports whether they fit.
func reserve(memory *atomic.Int64, n int) bool {
	if memory.Add(int64(n)) <= maxMemory {
		return true
	}
	memory.Add(-int64(n))
	return false
}

// perByte is the memory of a byte of a request: reading it copies its texts.
const perByte = 2

// whole is the copy of a request, which is read as a whole or not at all. The proxy that
// writes it never waits.
type whole struct {
	memory *atomic.Int64 // bytes of all copies
	size   int64         // that the client announced, -1 for none

	mu    sync.Mutex
	data  []byte
	seen  int           // bytes, also those that are not kept
	end   error         // errLost if it does not fit
	ended chan struct{} // closed when nothing follows
}

func newWhole(size int64, memory *atomic.Int64) *whole {
	return &whole{size: size, memory: memory, ended: make(chan struct{})}
}

// write adds bytes. If they do not fit, nothing is kept.
func (w *whole) write(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen += len(p)
	select {
	case <-w.ended:
		return
	default:
	}
	if w.end == nil && !w.grow(len(w.data)+len(p)) {
		w.forget()
		w.end = errLost
	}
	if w.end == nil {
		w.data = append(w.data, p...)
	}
}

// grow makes room for n bytes, and reports whether that is possible.
func (w *whole) grow(n int) bool {
	had := cap(w.data)
	if n <= had {
		return true
	}
	room := min(max(2*had, n, int(min(w.size, maxRequest))), maxRequest)
	if room < n || !reserve(w.memory, perByte*room) {
		return false
	}
	w.data = append(make([]byte, 0, room), w.data...)
	w.memory.Add(-int64(perByte * had))
	return true
}

func (w *whole) forget() {
	w.memory.Add(-int64(perByte * cap(w.data)))
	w.data = nil
}

// close ends the copy, unless it has ended. A body that did not fit is lost, however it
// ended.
func (w *whole) close(end error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.ended:
	default:
		if w.end == nil || !errors.Is(end, io.EOF) {
			w.end = end
		}
		close(w.ended)
	}
}

// drop forgets the bytes, also those that follow.
func (w *whole) drop() {
	w.close(errLost)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forget()
}

// read returns the body without its content encodings, when it has ended. It is valid
// until drop is called.
func (w *whole) read(encodings string) ([]byte, error) {
	<-w.ended
	w.mu.Lock()
	defer w.mu.Unlock()
	if !errors.Is(w.end, io.EOF) || strings.Trim(encodings, ", ") == "" {
		return w.data, w.end
	}
	d, err := decoded(bytes.NewReader(w.data), encodings, maxRequest)
	if err != nil {
		return nil, err
	}
	plain := newWhole(-1, w.memory)
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = d.Read(buf)
		plain.write(buf[:n])
	}
	w.forget()
	w.data = plain.data
	if plain.end != nil {
		return nil, plain.end
	}
	return w.data, err
}
