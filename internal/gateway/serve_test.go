package gateway

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
)

// serve serves a gateway over store on loopback and returns its URL.
func serve(t testing.TB, opts Options, store Store) string {
	t.Helper()
	return serveHandler(t, build(t, opts, store))
}

// build returns a gateway over store.
func build(t testing.TB, opts Options, store Store) *Gateway {
	t.Helper()
	g, err := New(opts, store, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// do sends a request and returns the response with its body. Headers have the form
// "Name: value", and Host is one of them.
func do(t testing.TB, method, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	resp := start(t, method, url, body, headers...)
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return resp, string(b)
}

// start sends a request and does not read the body.
func start(t testing.TB, method, url, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// frames reads SSE frames.
type frames struct {
	t testing.TB
	r *bufio.Reader
}

// openStream opens a stream.
func openStream(t testing.TB, url string, headers ...string) frames {
	t.Helper()
	resp := start(t, "GET", url, "", headers...)
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		t.Fatalf("GET %s: got %d %s", url, resp.StatusCode, b)
	}
	return frames{t, bufio.NewReader(resp.Body)}
}

// next returns the id and the event of the next frame, as "id event" or "event".
func (f frames) next() string {
	f.t.Helper()
	var id, event string
	for {
		line, err := f.r.ReadString('\n')
		if err != nil {
			f.t.Fatalf("stream: %v", err)
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "id: "):
			id = line[4:] + " "
		case strings.HasPrefix(line, "event: "):
			event = line[7:]
		case line == "":
			return id + event
		}
	}
}

// want reads frames and compares them.
func (f frames) want(want ...string) {
	f.t.Helper()
	for _, w := range want {
		if got := f.next(); got != w {
			f.t.Fatalf("frame: got %q, want %q", got, w)
		}
	}
}

// pipes is a listener and a dialer of net.Pipe connections. They are not buffered
// and follow the clock of a synctest bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial(t testing.TB) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	select {
	case p.conns <- server:
	case <-p.done:
		t.Fatal("dial: the listener is closed")
	}
	return client
}

// running runs a gateway in the background. stop ends it and waits.
func running(t testing.TB, g *Gateway, ln net.Listener) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx, ln) }()
	return sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}
