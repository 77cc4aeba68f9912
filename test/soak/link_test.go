package soak

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is a TCP proxy to a NATS server. Its connections can be cut; new ones are
// accepted at once.
type link struct {
	ln     net.Listener
	target string

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newLink returns a link to a target.
func newLink(t *testing.T, target string) *link {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{ln: ln, target: target, conns: map[net.Conn]bool{}}
	var forwarding sync.WaitGroup
	forwarding.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			forwarding.Go(func() { l.forward(c) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		l.cut()
		forwarding.Wait()
	})
	return l
}

func (l *link) url() string { return "nats://" + l.ln.Addr().String() }

// cut closes all connections.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

// forward forwards a connection to the target until one side closes it.
func (l *link) forward(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer s.Close()
	l.mu.Lock()
	l.conns[c], l.conns[s] = true, true
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.conns, c)
		delete(l.conns, s)
	}()
	var copying sync.WaitGroup
	for _, pair := range [][2]net.Conn{{c, s}, {s, c}} {
		copying.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // an error ends the connection too
			pair[0].Close()
			pair[1].Close()
		})
	}
	copying.Wait()
}
