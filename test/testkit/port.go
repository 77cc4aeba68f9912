package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// FreePorts returns addresses on which no process listens, and which are those of the test
// until it ends: their ports are below those that systems assign, and a lock keeps the
// tests of other packages away. So a server that starts again finds its port.
func FreePorts(t testing.TB, n int) (addrs []string) {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "streamer-ports")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for try := 0; len(addrs) < n; try++ {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		lock := flock.New(filepath.Join(dir, addr[len("127.0.0.1:"):]))
		if locked, err := lock.TryLock(); err != nil {
			t.Fatal(err)
		} else if !locked {
			continue
		}
		t.Cleanup(func() { _ = lock.Close() }) // an error leaves the lock to the end of the process
		ln, err := net.Listen("tcp", addr)
		if err == nil {
			ln.Close()
			addrs = append(addrs, addr)
		} else if try > 1000 {
			t.Fatal(err)
		}
	}
	return addrs
}

// FreePort returns an address, as FreePorts.
func FreePort(t testing.TB) string {
	t.Helper()
	return FreePorts(t, 1)[0]
}

// PortOf returns the port of an address of FreePorts.
func PortOf(t testing.TB, addr string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return a.Port
}
