package natsserver

import (
	"net"
	"testing"
)

// A reserved port is not given to others as a free one, has no listener, and can be
// used once it is released.
func TestReserve(t *testing.T) {
	reserved := map[string]reservation{}
	for range 200 {
		r, err := reserve(listenAny(t))
		if err != nil {
			t.Fatal(err)
		}
		defer r.release()
		reserved[r[0].RemoteAddr().String()] = r
	}
	for range 500 {
		if addr := listenAny(t).Addr().String(); reserved[addr] != nil {
			t.Fatalf("the reserved %s was given as a free port", addr)
		}
	}
	for addr, r := range reserved {
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Fatalf("%s takes a client", addr)
		}
		r.release()
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

// listenAny listens on a free port until the end of the test.
func listenAny(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
