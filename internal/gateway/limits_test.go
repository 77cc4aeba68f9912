package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamLimits: streams above the limit of a subject or of an address get 429, and
// a stream that ends makes room.
func TestStreamLimits(t *testing.T) {
	opts := withTokens(t)
	opts.MaxPerClient, opts.MaxPerAddress = 2, 3
	g := build(t, opts, newMemory())
	url := serveHandler(t, g) + "/v1/sessions/s/events"
	of := func(subject string) string {
		return "Authorization: Bearer " + signedToken(t, subject, `{"watch":["s"]}`, time.Hour)
	}
	status := func(headers ...string) int { return start(t, "GET", url, "", headers...).StatusCode }
	const from = "X-Forwarded-For: 198.51.100.7"
	first := start(t, "GET", url, "", of("alice"), from)
	for i, c := range []struct {
		who, from string
		want      int
	}{
		{"alice", from, 200},
		{"alice", from, 429},
		{"alice", "X-Forwarded-For: 198.51.100.8", 429}, // the same client
		{"bob", from, 200},
		{"carol", from, 429}, // the same address
		{"carol", "X-Forwarded-For: 203.0.113.1, 198.51.100.7", 429}, // the client forged the first
		{"carol", "X-Forwarded-For: 198.51.100.7, 203.0.113.1", 200},
		{"dora", "X-Forwarded-For: 2001:db8::1", 200},
		{"dora", "X-Forwarded-For: 2001:db8::2", 200},
		{"eve", "X-Forwarded-For: 2001:db8::ffff", 200},
		{"fred", "X-Forwarded-For: [2001:db8::3]:443", 429}, // the same network
		{"fred", "Accept: */*", 200},
	} {
		if got := status(of(c.who), c.from); got != c.want {
			t.Errorf("%d: %s, %s: got %d, want %d", i, c.who, c.from, got, c.want)
		}
	}
	if resp := start(t, "GET", url, "", of("alice"), from); resp.Header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	open := g.streams.count()
	first.Body.Close()
	for g.streams.count() == open { // the server notices that the client disconnected
		if status(of("carol"), "X-Forwarded-For: 192.0.2.9") == 200 {
			open++
		}
	}
	if got := status(of("alice"), from); got != 200 {
		t.Errorf("after the end of a stream: got %d, want 200", got)
	}
}

// TestClientAddress checks which address counts as the client's.
func TestClientAddress(t *testing.T) {
	p, err := parseProxies([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"198.51.100.7:1", "", "198.51.100.7"},
		{"198.51.100.7:1", "203.0.113.1", "198.51.100.7"}, // not a proxy
		{"127.0.0.1:1", "", ""},
		{"127.0.0.1:1", "127.0.0.1", ""},
		{"127.0.0.1:1", "203.0.113.1", "203.0.113.1"},
		{"127.0.0.1:1", "203.0.113.1, 10.1.1.1,192.0.2.1", "203.0.113.1"},
		{"192.0.2.1:1", "garbage", ""},
		{"192.0.2.1:1", "198.51.100.9, garbage", ""},
		{"192.0.2.2:1", "203.0.113.1", "192.0.2.2"},
		{"[2001:db8::5]:1", "203.0.113.1:4711", "203.0.113.1"},
		{"[2001:db9:1:2:3::5]:1", "", "2001:db9:1:2::/64"},
		{"[::ffff:198.51.100.7]:1", "", "198.51.100.7"},
		{"pipe", "203.0.113.1", ""},
	} {
		t.Run(c.remote+" "+c.forwarded, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", http.NoBody)
			r.RemoteAddr = c.remote
			if c.forwarded != "" {
				r.Header.Set("X-Forwarded-For", c.forwarded)
			}
			if got := p.client(r); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", c.remote, c.forwarded, got, c.want)
			}
		})
	}
}

// fixedConns is a listener of pipes that come from an address.
type fixedConns struct {
	*pipes
	from net.Addr
}

type fixedConn struct {
	net.Conn
	from net.Addr
}

func (c fixedConn) RemoteAddr() net.Addr { return c.from }

// Accept returns the next connection.
func (f fixedConns) Accept() (net.Conn, error) {
	c, err := f.pipes.Accept()
	return fixedConn{c, f.from}, err
}

// TestConnectionLimit: connections of an address above the limit are closed at once,
// and a connection that ends makes room.
func TestConnectionLimit(t *testing.T) {
	for address, limited := range map[string]bool{"198.51.100.7": true, "127.0.0.1": false} {
		t.Run(address, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := fixedConns{newPipes(), &net.TCPAddr{IP: net.ParseIP(address), Port: 1}}
				g := build(t, Options{MaxPerAddress: 2}, newMemory())
				stop := running(t, g, ln)
				first, _ := ln.dial(t), ln.dial(t)
				third := ln.dial(t)
				closed := func(c net.Conn) bool {
					synctest.Wait()
					if c.SetReadDeadline(time.Now().Add(time.Second)) != nil {
						return true // the other end of the pipe is closed
					}
					_, err := c.Read(make([]byte, 1))
					return errors.Is(err, io.EOF)
				}
				if got := closed(third); got != limited {
					t.Errorf("%s: third connection: closed %t, want %t", address, got, limited)
				}
				first.Close()
				synctest.Wait()
				if closed(ln.dial(t)) {
					t.Errorf("%s: after the end of a connection: another one is closed", address)
				}
				if got := g.counts.refused.Load(); (got == 1) != limited {
					t.Errorf("%s: counted %d refused connections", address, got)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// interrupt begins a request whose body is not stored as it arrives.
const interrupt = "POST /v1/sessions/s/interrupt HTTP/1.1\r\nHost: localhost\r\n"

// TestSlowloris: a client that sends headers or a body too slowly is disconnected
// within the read timeout, and one that never stops sending is, too.
func TestSlowloris(t *testing.T) {
	const post = "POST /v1/sessions/s/deltas HTTP/1.1\r\nHost: localhost\r\n"
	for name, c := range map[string]struct {
		text string
		drip string // sent once a second
		max  time.Duration
	}{
		"no request":     {"", "", 16 * time.Second},
		"half a line":    {"GET /v1/ses", "s", 16 * time.Second},
		"endless header": {"GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", 16 * time.Second},
		"slow body":      {post + "Content-Length: 1000\r\n\r\n{", " ", 16 * time.Second},
		"no body":        {post + "Content-Length: 1000\r\n\r\n", "", 16 * time.Second},
		"slow chunks":    {interrupt + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 16 * time.Second},
		"slow login":     {"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", " ", 16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := Options{Token: "0123456789abcdef"}
				text := strings.Replace(c.text, "Host: localhost\r\n", "Host: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\n", 1)
				ln := newPipes()
				store := newMemory()
				stop := running(t, build(t, opts, store), ln)
				conn := ln.dial(t)
				began := time.Now()
				var sending sync.WaitGroup
				sending.Go(func() {
					_, err := io.WriteString(conn, text)
					for err == nil && c.drip != "" {
						time.Sleep(time.Second) // of the bubble's time
						_, err = io.WriteString(conn, c.drip)
					}
				})
				_, _ = io.ReadAll(conn) // an error means that the server closed the connection
				if took := time.Since(began); took > c.max {
					t.Errorf("%s: disconnected after %s, want at most %s", name, took, c.max)
				}
				conn.Close()
				sending.Wait()
				if len(store.inputs) > 0 {
					t.Errorf("%s: stored %v", name, store.inputs)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestTwoFramings: a body in chunks is the last one of its connection, with a Content-Length
// or without, so that what follows is not taken for a request of another client.
func TestTwoFramings(t *testing.T) {
	g := build(t, Options{}, newMemory())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func(stop func() error) {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}(running(t, g, ln))
	const next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	for framing, want := range map[string]int{"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": 1, "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n": 1, "Content-Length: 2\r\n\r\n{}": 2} {
		t.Run(framing, func(t *testing.T) {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, interrupt+framing+next); err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(conn) // a reset also ends it
			if got := strings.Count(string(text), "HTTP/1.1 20"); got != want {
				t.Errorf("%q: %d answers, want %d:\n%s", framing, got, want, text)
			}
		})
	}
}

// TestHostileRequests: oversized and endless bodies and headers are refused before
// they are read as a whole.
func TestHostileRequests(t *testing.T) {
	store := newMemory()
	g := build(t, Options{MaxBody: 100_000}, store)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := running(t, g, ln)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[string]struct {
		head   string
		repeat string // sent until the server answers or disconnects
		status string // of the answer; separated by |
	}{
		"announced body":    {interrupt + "Content-Length: 9999999999\r\n\r\n", "", "413"},
		"endless chunks":    {interrupt + "Transfer-Encoding: chunked\r\n\r\n", "1000\r\n" + strings.Repeat(" ", 4096) + "\r\n", "413|none"},
		"endless login":     {"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", "1000\r\n" + strings.Repeat(" ", 4096) + "\r\n", "204|400|none"},
		"endless header":    {"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", strings.Repeat("a", 4096), "431|none"},
		"endless headers":   {"GET / HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", "431|none"},
		"endless path":      {"GET /", strings.Repeat("a", 4096), "431|none"},
		"endless chunk":     {interrupt + "Transfer-Encoding: chunked\r\n\r\n", strings.Repeat("0", 4096), "400|none"},
		"two lengths":       {interrupt + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "", "400"},
		"length and chunks": {"POST /v1/sessions/s/results HTTP/1.1\r\nHost: localhost\r\n" + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", "400"},
		"negative length":   {interrupt + "Content-Length: -1\r\n\r\n", "", "400"},
		"unknown encoding":  {interrupt + "Transfer-Encoding: gzip, chunked\r\n\r\n", "", "501"},
		"two hosts":         {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.com\r\n\r\n", "", "400"},
		"no host":           {"GET /healthz HTTP/1.1\r\n\r\n", "", "400"},
		"absolute address":  {"GET http://evil.example.com/v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n", "", "403"},
		"folded header":     {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\n", "", "200"},
		"NUL in a header":   {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: \x00\r\n\r\n", "", "400"},
		"unknown method":    {"BREW /v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n", "", "405"},
		"connect":           {"CONNECT evil.example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", "", "400|403|404|405"},
		"not HTTP":          {"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n", "", "400"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan string, 1)
			go func() {
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err != nil {
					answered <- "none"
					return
				}
				answered <- strings.Fields(line)[1]
			}()
			sent, _ := io.WriteString(conn, c.head)
			var got string
			for got == "" {
				select {
				case got = <-answered:
				default:
					if c.repeat == "" {
						got = <-answered
						continue
					}
					n, err := io.WriteString(conn, c.repeat)
					if sent += n; err != nil {
						got = <-answered
					}
				}
			}
			conn.Close()
			if !strings.Contains("|"+c.status+"|", "|"+got+"|") {
				t.Errorf("%s: got %s, want %s", name, got, c.status)
			}
			if sent > 64<<20 {
				t.Errorf("%s: the server read %d bytes", name, sent)
			}
		})
	}
	if len(store.inputs) > 0 {
		t.Errorf("stored %s", fmt.Sprint(store.inputs))
	}
}
