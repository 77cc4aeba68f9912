package testkit

import (
	"bytes"
	"sync"
)

// maxKept is the number of bytes above which the beginning is dropped.
const maxKept = 1 << 16

// Tail keeps the end of an output. The zero value is ready for use, from any goroutine.
type Tail struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *Tail) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.buf.Len() > maxKept {
		o.buf.Next(o.buf.Len() / 2)
	}
	return o.buf.Write(b)
}

// String returns the end of the output.
func (o *Tail) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
