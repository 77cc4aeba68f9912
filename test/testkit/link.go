package testkit

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Link is a TCP proxy between two processes. It can be cut (connections are closed
// and new ones are refused), stalled (connections stay open and transfer nothing)
// and healed.
type Link struct {
	ln     net.Listener
	target string

	mu    sync.Mutex
	cut   bool
	open  chan struct{} // closed while bytes may pass
	conns map[net.Conn]bool
}

// NewLink returns a link to a target, which ends with the test.
func NewLink(t *testing.T, target string) *Link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{ln: ln, target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
	t.Cleanup(func() {
		ln.Close()
		l.set(true, false)
	})
	go l.accept()
	return l
}

// Addr returns the address at which the link accepts connections.
func (l *Link) Addr() string { return l.ln.Addr().String() }

// Drop closes all connections. New ones are accepted at once.
func (l *Link) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeAll()
}

// Fail cuts or stalls the link.
func (l *Link) Fail(stall bool) { l.set(!stall, stall) }

// Heal ends a cut or stall.
func (l *Link) Heal() { l.set(false, false) }

// set sets the state of the link.
func (l *Link) set(cut, stall bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	select {
	case <-l.open:
		if stall {
			l.open = make(chan struct{})
		}
	default:
		if !stall {
			close(l.open)
		}
	}
	if cut {
		l.closeAll()
	}
}

// closeAll closes all connections. mu is locked.
func (l *Link) closeAll() {
	for c := range l.conns {
		c.Close()
	}
}

// accept forwards the connections of the link.
func (l *Link) accept() {
	for {
		c, err := l.ln.Accept()
		if err != nil {
			return
		}
		go l.forward(c)
	}
}

// forward forwards a connection to the target until one side closes it.
func (l *Link) forward(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer s.Close()
	if !l.enter(c, s) {
		return
	}
	defer l.leave(c, s)
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{c, s}, {s, c}} {
		go func() {
			_, _ = io.Copy(gate{l, pair[0]}, pair[1]) // an error closes the connection too
			done <- struct{}{}
		}()
	}
	<-done
}

// enter registers connections. It reports whether the link is not cut.
func (l *Link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = true
	}
	return !l.cut
}

// leave unregisters connections.
func (l *Link) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}

// gate is a writer that waits while its link is stalled.
type gate struct {
	l *Link
	w io.Writer
}

func (g gate) Write(p []byte) (int, error) {
	g.l.mu.Lock()
	open := g.l.open
	g.l.mu.Unlock()
	<-open
	return g.w.Write(p)
}
