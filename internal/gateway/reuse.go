package gateway

import (
	"crypto/tls"
	"net"
	"sync"
)

// reused is a listener of connections whose stream has ended in order: net/http serves
// their next requests. A connection is not just closed after a stream, because a
// client may send a request on it at the same moment, and not every client repeats it.
type reused struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newReused() *reused { return &reused{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept returns the next connection.
func (l *reused) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close makes Accept and give fail.
func (l *reused) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *reused) Addr() net.Addr { return &net.TCPAddr{} }

// give passes on a connection and reports whether it is accepted.
func (l *reused) give(c net.Conn) bool {
	select {
	case l.conns <- c:
		return true
	case <-l.closed:
		return false
	}
}

// begun is a connection of which a byte of the next request was read.
type begun struct {
	net.Conn
	first []byte // nil once it is read again
}

// Read returns the byte that was read, and then reads from the connection.
func (b *begun) Read(p []byte) (int, error) {
	if b.first == nil || len(p) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = nil
	return n, nil
}

// resumed returns the connection for its next request. first is what was read of that.
// It returns nil if net/http would not recognise the connection as encrypted.
func resumed(c net.Conn, first []byte) net.Conn {
	if len(first) == 0 {
		return c
	}
	if _, encrypted := c.(*tls.Conn); encrypted {
		return nil
	}
	return &begun{c, first}
}
