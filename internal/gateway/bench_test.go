package gateway

import (
	"bytes"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/events"
)

// watcher is a client that does next to nothing, so that the server is what is
// measured: one read buffer, and a search for what it waits for.
func watcher(b testing.TB, addr, session string) net.Conn {
	b.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /v1/sessions/%s/events HTTP/1.0\r\nHost: localhost\r\n\r\n", session)
	return conn
}

// readUntil reads to the end of the frame that begins with mark.
func readUntil(b testing.TB, conn net.Conn, buf []byte, mark string) {
	kept := 0
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			b.Errorf("read: %v", err)
			return
		}
		if bytes.Contains(buf[:kept+n], []byte(mark)) {
			return
		}
		tail := min(len(mark), kept+n)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
}

func address(b testing.TB, store Store) string {
	srv := httptest.NewServer(build(b, Options{}, store))
	b.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// Events of 350 bytes told to all clients of one session, as fast as they come.
func BenchmarkFanOut(b *testing.B) {
	for _, clients := range []int{1, 100} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			store := newMemory()
			addr := address(b, store)
			var wg sync.WaitGroup
			for range clients {
				conn := watcher(b, addr, "s")
				buf := make([]byte, 64<<10)
				readUntil(b, conn, buf, "stream.live")
				wg.Go(func() { readUntil(b, conn, buf, "event: run_finished") })
			}
			b.ReportAllocs()
			b.ResetTimer()
			store.some("s", b.N)
			store.add("s", events.RunFinished, `{}`)
			wg.Wait()
			b.ReportMetric(float64(b.N*clients)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// The delay from the log to the last byte of the frame at a client, when all
// clients of a session get the same event and 50 come per second.
func BenchmarkDelay(b *testing.B) {
	for _, clients := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			store := newMemory()
			addr := address(b, store)
			got := make(chan time.Time, clients)
			for range clients {
				conn := watcher(b, addr, "s")
				buf := make([]byte, 4<<10)
				readUntil(b, conn, buf, "stream.live")
				go func() {
					for {
						if _, err := conn.Read(buf); err != nil {
							return
						}
						got <- time.Now()
					}
				}()
			}
			var delays []time.Duration
			for b.Loop() {
				began := time.Now()
				store.some("s", 1)
				for range clients {
					delays = append(delays, (<-got).Sub(began))
				}
				time.Sleep(20*time.Millisecond - time.Since(began))
			}
			slices.Sort(delays)
			b.ReportMetric(float64(delays[len(delays)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(delays[len(delays)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// A history of 2,000 events of 1 KB, read from its beginning.
func BenchmarkReplay(b *testing.B) {
	store := newMemory()
	body := `{"args":"` + strings.Repeat("x", 1000) + `"}`
	for range 2000 {
		store.add("s", events.ToolCallArgsDelta, body)
	}
	addr := address(b, store)
	buf := make([]byte, 256<<10)
	b.SetBytes(2000 * int64(len(body)))
	for b.Loop() {
		conn := watcher(b, addr, "s")
		readUntil(b, conn, buf, "stream.live")
		conn.Close()
	}
}

// What a silent stream holds: heap and stacks of server and client.
func BenchmarkIdle(b *testing.B) {
	const n = 2000
	for b.Loop() {
		addr := address(b, newMemory())
		before := held()
		conns := make([]net.Conn, n)
		buf := make([]byte, 4<<10)
		for i := range conns {
			conns[i] = watcher(b, addr, "s")
			readUntil(b, conns[i], buf, "stream.live")
		}
		after := held()
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/n, "stack-B/stream")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/stream")
		b.ReportMetric(float64(after.HeapObjects-before.HeapObjects)/n, "objects/stream")
		for _, c := range conns {
			c.Close()
		}
	}
}

func held() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
