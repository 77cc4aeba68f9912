package clients

import (
	"bytes"
	"context"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// proxy passes requests to a server and loses connections. The path of a request is
// /<name>/<n>/<path at the server>. Of the answers to requests with a name, the first
// that has n frames, or lines of a durable stream, is cut off after these; n 0 cuts none. Where n is odd, the
// beginning of the next frame passes too. An EventSource reconnects at once, because
// the proxy changes the delay that the server proposes.
type proxy struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	last   int
	cut    map[string]bool // names whose connection was cut off
	frames map[string]int  // greatest number of frames in an answer, by name
}

// openProxy returns a proxy of a server, which is closed with the test.
func openProxy(t *testing.T, server string) *proxy {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{cut: map[string]bool{}, frames: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	p.Server = httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			plan, path := parsePath(r.In.URL.EscapedPath())
			r.Out = r.Out.WithContext(context.WithValue(r.Out.Context(), planKey{}, plan))
			r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
			r.Out.URL.Path, _ = url.PathUnescape(path) // the path of a request is valid
			r.Out.URL.RawPath = path
			r.Out.Host = r.In.Host // the server compares it with the origin
		},
		ModifyResponse: p.modify,
		FlushInterval:  -1,
		ErrorLog:       stdlog.New(io.Discard, "", 0), // it logs each cut
	})
	p.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	p.Start()
	t.Cleanup(func() {
		// Closing the connections would not end all requests, and Close waits for
		// them: an EventSource that reconnects at once has a new one.
		cancel()
		p.Close()
	})
	return p
}

// url returns a new base URL whose first answer with n frames is cut off after them, and
// the name in it.
func (p *proxy) url(n int) (base, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	name = strconv.Itoa(p.last)
	return p.URL + "/" + name + "/" + strconv.Itoa(n), name
}

// framesOf returns the greatest number of frames of an answer to a name.
func (p *proxy) framesOf(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.frames[name]
}

// wasCut reports whether a connection of a name was cut off.
func (p *proxy) wasCut(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut[name]
}

// plan states which connection is cut off, and where.
type plan struct {
	name string
	n    int
}

// planKey is the key of the plan in the context of a request to the server.
type planKey struct{}

// parsePath returns the plan in a path, and the path at the server.
func parsePath(path string) (plan, string) {
	parts := strings.SplitN(path, "/", 4)
	if len(parts) < 4 {
		return plan{}, path
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil {
		return plan{}, path
	}
	return plan{parts[1], n}, "/" + parts[3]
}

// modify replaces the body of a stream.
func (p *proxy) modify(r *http.Response) error {
	plan, _ := r.Request.Context().Value(planKey{}).(plan)
	switch {
	case strings.Contains(r.Request.URL.Path, "/durable-streams/"):
		r.Body = &cutBody{ReadCloser: r.Body, proxy: p, plan: plan, end: "\n"}
	case r.Header.Get("Content-Type") == "text/event-stream":
		r.Body = &cutBody{ReadCloser: r.Body, proxy: p, plan: plan, end: "\n\n"}
	}
	return nil
}

// cutBody is the body of a stream that may be cut off.
type cutBody struct {
	io.ReadCloser
	plan
	proxy  *proxy
	end    string // of a frame
	frames int
	lost   bool
}

// Read reads up to the cut. Then it returns an error, at which the proxy closes the
// connection of the client.
func (b *cutBody) Read(p []byte) (int, error) {
	if b.lost {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p)
	copy(p, quickRetry(p[:n]))
	b.proxy.mu.Lock()
	defer b.proxy.mu.Unlock()
	for at := 0; ; {
		next := bytes.Index(p[at:n], []byte(b.end))
		if next < 0 {
			return n, err
		}
		at += next + len(b.end)
		b.frames++
		b.proxy.frames[b.name] = max(b.proxy.frames[b.name], b.frames)
		if b.frames == b.n && !b.proxy.cut[b.name] {
			b.proxy.cut[b.name], b.lost = true, true
			return min(n, at+b.n%2*10), nil
		}
	}
}

// retryLine is the delay in the first frame of a native stream.
var retryLine = regexp.MustCompile(`(?m)^retry: \d+$`)

// quickRetry returns a text of the same length with a short delay.
func quickRetry(text []byte) []byte {
	return retryLine.ReplaceAllFunc(text, func(line []byte) []byte {
		return append([]byte("retry: "), bytes.Repeat([]byte("0"), len(line)-len("retry: "))...)
	})
}
