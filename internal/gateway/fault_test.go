package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/test/testkit"
)

// served runs a gateway on loopback and returns its address.
func served(t *testing.T, g *Gateway) (addr string, stop func() error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop = running(t, g, ln)
	t.Cleanup(func() { _ = stop() })
	return ln.Addr().String(), stop
}

// proxied runs a proxy for one connection, which passes the bytes of the server to
// forward. It returns its address.
func proxied(t *testing.T, target string, forward func(client io.Writer, server io.Reader)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", target)
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		_ = server.(*net.TCPConn).SetReadBuffer(4 << 10) // what the proxy does not read stays at the gateway
		wg.Go(func() { _, _ = io.Copy(server, client) }) // ends with the connection
		forward(client, server)
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return ln.Addr().String()
}

// sseReader is a client that resumes: it has the ids of all events so far.
type sseReader struct {
	t   *testing.T
	ids []uint64
}

// read reads a stream of session s after the last id, from an address, until the event
// with the id until, or an error.
func (c *sseReader) read(addr string, until uint64) error {
	c.t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	cursor := ""
	if n := len(c.ids); n > 0 {
		cursor = fmt.Sprintf("Last-Event-ID: %d\r\n", c.ids[n-1])
	}
	fmt.Fprintf(conn, "GET /v1/sessions/s/events HTTP/1.1\r\nHost: localhost\r\n%s\r\n", cursor)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	lines := bufio.NewReader(resp.Body)
	pending := uint64(0)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			if pending, err = strconv.ParseUint(strings.TrimSpace(id), 10, 64); err != nil {
				c.t.Errorf("id: %v", err)
			}
		}
		if line == "\n" && pending > 0 { // only a complete frame counts
			c.ids = append(c.ids, pending)
			if pending == until {
				return nil
			}
			pending = 0
		}
	}
}

// resume reads until the event with the id until. On a machine with other load, the
// client may be disconnected again.
func (c *sseReader) resume(addr string, until uint64) {
	c.t.Helper()
	for start := time.Now(); c.read(addr, until) != nil; {
		if time.Since(start) > 30*time.Second {
			c.t.Errorf("the client has %d events after 30 s", len(c.ids))
			return
		}
	}
}

// want checks that the client has the events 1 to n, each once.
func (c *sseReader) want(n int) {
	c.t.Helper()
	for i, id := range c.ids {
		if id != uint64(i+1) {
			c.t.Fatalf("event %d of the client has the id %d", i+1, id)
		}
	}
	if len(c.ids) != n {
		c.t.Errorf("the client has %d events, want %d", len(c.ids), n)
	}
}

// TestFrozenProxy checks that a client whose proxy stops forwarding, without closing a
// connection, is disconnected, that another client does not wait for it, and that it
// resumes with exactly the rest.
func TestFrozenProxy(t *testing.T) {
	const n = 200
	store := newMemory()
	store.some("s", 10)
	g := build(t, Options{WriteTimeout: 200 * time.Millisecond}, store)
	addr, _ := served(t, g)
	frozen := make(chan struct{})
	reached := make(chan struct{})
	proxy := proxied(t, addr, func(client io.Writer, server io.Reader) {
		_, _ = io.CopyN(client, server, 3<<10) // the header and the first events
		client.(net.Conn).Close()              // the client of this test goes on; the gateway does not see that
		close(reached)
		<-frozen
	})
	t.Cleanup(func() { close(frozen) }) // before the cleanup that waits for the proxy
	behind, direct := &sseReader{t: t}, &sseReader{t: t}
	if err := behind.read(proxy, n); err == nil {
		t.Fatal("the client behind the proxy got all events")
	}
	<-reached
	body := `{"args":"` + strings.Repeat("x", 64<<10) + `"}`
	var wg sync.WaitGroup
	wg.Go(func() { direct.resume(addr, n) })
	for range n - 10 {
		store.add("s", events.ToolCallArgsDelta, body)
	}
	wg.Wait()
	direct.want(n)
	testkit.UntilTrue(t, "the stream of the frozen proxy ends", func() bool { return g.counts.slow.Load() > 0 })
	behind.resume(addr, n)
	behind.want(n)
}

// TestProxiesThatBuffer checks that a client behind a proxy that forwards late, or in
// small pieces, ends with exactly the log.
func TestProxiesThatBuffer(t *testing.T) {
	const n = 60
	for name, forward := range map[string]func(io.Writer, io.Reader){
		"blocks of 1000 bytes": func(client io.Writer, server io.Reader) {
			w := bufio.NewWriterSize(client, 1000)
			_, _ = io.Copy(w, struct{ io.Reader }{server})
			_ = w.Flush() // the client may be gone
		},
		"everything at the end": func(client io.Writer, server io.Reader) {
			b, _ := io.ReadAll(server)
			_, _ = client.Write(b)
		},
		"single bytes": func(client io.Writer, server io.Reader) {
			r := bufio.NewReader(server)
			for {
				b, err := r.ReadByte()
				if err != nil {
					return
				}
				if _, err := client.Write([]byte{b}); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMemory()
			store.some("s", n/3)
			g := build(t, Options{Grace: 50 * time.Millisecond}, store)
			addr, stop := served(t, g)
			c := &sseReader{t: t}
			ended := make(chan error, 1)
			go func() { ended <- c.read(proxied(t, addr, forward), n) }()
			testkit.UntilTrue(t, "the stream is open", func() bool { return g.streams.count() == 1 })
			store.some("s", n/3)
			if err := stop(); err != nil {
				t.Error(err)
			}
			if err := <-ended; err == nil {
				t.Error("the stream goes on after the end of the server")
			}
			store.some("s", n/3)
			addr, _ = served(t, build(t, Options{}, store))
			c.resume(addr, n)
			c.want(n)
		})
	}
}
