package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreePorts returns addresses on which no process listens. The ports are below those
// that systems assign to connections: a process that starts again would find its port
// taken by one of another test.
func FreePorts(t testing.TB, n int) (addrs []string) {
	t.Helper()
	for try := 0; len(addrs) < n; try++ { // all ports are open at once, so that they differ
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		switch {
		case err == nil:
			defer ln.Close()
			addrs = append(addrs, ln.Addr().String())
		case try == 1000:
			t.Fatal(err)
		}
	}
	return addrs
}

// FreePort returns an address on which no process listens.
func FreePort(t testing.TB) string {
	t.Helper()
	return FreePorts(t, 1)[0]
}
