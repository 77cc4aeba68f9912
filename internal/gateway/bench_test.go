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

// watcher opens a stream with as little client work as possible, so that the
// benchmark measures the server.
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

// readUntil reads until the stream has the text.
func readUntil(b testing.TB, conn net.Conn, buf []byte, text string) {
	kept := 0
	for {
		n, err := conn.Read(buf[kept:])
		if err != nil {
			b.Errorf("read: %v", err)
			return
		}
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return
		}
		tail := min(len(text), kept+n)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
}

// address starts a server and returns its address.
func address(b testing.TB, store Store) string {
	srv := httptest.NewServer(build(b, Options{}, store))
	b.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://")
}

// BenchmarkFanOut sends events of 350 bytes to all clients of one session.
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

// BenchmarkDelay measures the time from the log to a client's complete frame, with
// 50 events per second that all clients of a session receive.
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

// BenchmarkReplay reads a history of 2,000 events of 1 KB.
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

// BenchmarkIdle measures the heap and the stacks of an idle stream, server and
// client together.
func BenchmarkIdle(b *testing.B) {
	const n = 2000
	for b.Loop() {
		addr := address(b, newMemory())
		before := memStats()
		conns := make([]net.Conn, n)
		buf := make([]byte, 4<<10)
		for i := range conns {
			conns[i] = watcher(b, addr, "s")
			readUntil(b, conns[i], buf, "stream.live")
		}
		after := memStats()
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/n, "stack-B/stream")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "heap-B/stream")
		b.ReportMetric(float64(after.HeapObjects-before.HeapObjects)/n, "objects/stream")
		for _, c := range conns {
			c.Close()
		}
	}
}

func memStats() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}
