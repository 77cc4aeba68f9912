package chaos

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is a stretch of network: a TCP proxy that can be cut (its connections
// end, new ones are refused), stalled (nothing passes, nothing ends) and
// healed.
type link struct {
	ln     net.Listener
	target string

	mu    sync.Mutex
	cut   bool
	open  chan struct{} // closed while bytes may pass
	conns map[net.Conn]bool
}

func newLink(t *testing.T, target string) *link {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{ln: ln, target: target, open: make(chan struct{}), conns: map[net.Conn]bool{}}
	close(l.open)
	t.Cleanup(func() {
		ln.Close()
		l.set(true, false)
	})
	go l.accept()
	return l
}

func (l *link) addr() string { return l.ln.Addr().String() }

// fail cuts or stalls the link.
func (l *link) fail(stall bool) { l.set(!stall, stall) }

func (l *link) heal() { l.set(false, false) }

func (l *link) set(cut, stall bool) {
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
		for c := range l.conns {
			c.Close()
		}
	}
}

func (l *link) accept() {
	for {
		c, err := l.ln.Accept()
		if err != nil {
			return
		}
		go l.carry(c)
	}
}

func (l *link) carry(c net.Conn) {
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
	for _, ends := range [][2]net.Conn{{c, s}, {s, c}} {
		go func() {
			_, _ = io.Copy(gate{l, ends[0]}, ends[1]) // however it ends, the connection ends
			done <- struct{}{}
		}()
	}
	<-done
}

func (l *link) enter(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		l.conns[c] = true
	}
	return !l.cut
}

func (l *link) leave(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		delete(l.conns, c)
	}
}

// gate is a writer that waits while its link is stalled.
type gate struct {
	l *link
	w io.Writer
}

func (g gate) Write(p []byte) (int, error) {
	g.l.mu.Lock()
	open := g.l.open
	g.l.mu.Unlock()
	<-open
	return g.w.Write(p)
}
