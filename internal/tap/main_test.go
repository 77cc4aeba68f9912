package tap

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

// What the requests of the tests have, and no line of the log may have.
const (
	secretKey    = "sk-secret-of-a-header"
	secretCookie = "secret-of-a-cookie"
	secretQuery  = "secret-of-a-query"
	secretBody   = "secret-of-a-body"
)

// logged is the log of all tests.
var logged logBuffer

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestMain runs the tests, and checks that no line of their logs has a secret, and that no
// exchange is left.
func TestMain(m *testing.M) {
	status := m.Run()
	stacks := make([]byte, 4<<20)
	left := func() error {
		if text := string(stacks[:runtime.Stack(stacks, true)]); strings.Contains(text, "tap.(*exchange)") || strings.Contains(text, "tap.(*Tap)") {
			return errors.New(text)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Within)
	if err := testkit.Poll(ctx, left); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: goroutines of the tap are left:", err)
		status = 1
	}
	cancel()
	for line := range strings.Lines(logged.String()) {
		if strings.Contains(line, "secret-of") {
			fmt.Fprintf(os.Stderr, "FAIL: a line of the log has a secret: %s", line)
			status = 1
		}
	}
	os.Exit(status)
}

// open is start with a log that is checked.
func open(t *testing.T, upstream http.Handler, change func(*Options)) (string, *inputLog, *Tap) {
	t.Helper()
	return start(t, upstream, func(o *Options) {
		o.Log = zerolog.New(zerolog.MultiLevelWriter(&logged, zerolog.NewTestWriter(t)))
		if change != nil {
			change(o)
		}
	})
}

// openRaw returns the URL of a tap of an upstream that serves connections itself.
func openRaw(t *testing.T, serve func(conn net.Conn, r *bufio.Reader), change func(*Options)) (string, *inputLog, *Tap) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c, bufio.NewReader(c))
			}()
		}
	}()
	return open(t, http.NotFoundHandler(), func(o *Options) {
		for i := range o.Upstreams {
			u := *o.Upstreams[i].URL
			u.Host = ln.Addr().String()
			o.Upstreams[i].URL = &u
		}
		if change != nil {
			change(o)
		}
	})
}

// replies returns an upstream that answers each request with a text.
func replies(text string) func(net.Conn, *bufio.Reader) {
	return func(c net.Conn, r *bufio.Reader) {
		for readRequest(r) != nil {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
}

// readRequest reads a request with its body, nil at the end of the connection.
func readRequest(r *bufio.Reader) *http.Request {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil
	}
	return req
}

// dialTap connects to the server of a URL. The host of requests is the second value, and
// the path of the URL the third.
func dialTap(t *testing.T, url string) (conn net.Conn, host, path string) {
	t.Helper()
	host, path, _ = strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, host, "/" + path
}

// within bounds how long a test waits.
const within = 30 * time.Second

// await waits until a channel is closed or has a value.
func await[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(within):
		t.Fatalf("waited for %s in vain", what)
	}
	return v
}

// checkStory checks what the log has when all is published. S is the name of the session.
func checkStory(t *testing.T, l *inputLog, tp *Tap, want string) {
	t.Helper()
	closeTap(t, tp)
	name := ""
	if names := tp.Sessions(); len(names) > 0 {
		name = names[0]
	}
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(want), "\n") {
		lines = append(lines, strings.Replace(strings.TrimSpace(line), "S:", name+":", 1))
	}
	if got := l.story(); got != strings.Join(lines, "\n") {
		t.Errorf("the log has\n%s\nwant\n%s", got, strings.Join(lines, "\n"))
	}
	if n := tp.memory.Load(); n != 0 {
		t.Errorf("%d bytes of copies are kept", n)
	}
	if n := tp.kept.Load(); n != 0 {
		t.Errorf("%d bytes of answers are kept", n)
	}
}

// awaitLines waits until the log has a number of lines.
func (l *inputLog) awaitLines(t *testing.T, n int) {
	t.Helper()
	limit, tick := time.After(within), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for strings.Count(l.story()+"\n", "\n") < n {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("the log has\n%s\nwant %d lines", l.story(), n)
		}
	}
}
