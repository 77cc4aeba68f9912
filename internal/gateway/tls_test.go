package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
)

// secureServer serves a gateway with TLS and returns a client that trusts it, and the
// URL.
func secureServer(t *testing.T, opts Options, store Store) (*http.Client, string) {
	t.Helper()
	// The certificate of httptest is for example.com and 127.0.0.1.
	example := httptest.NewTLSServer(http.NotFoundHandler())
	pair := example.TLS.Certificates[0]
	roots := x509.NewCertPool()
	roots.AddCert(example.Certificate())
	example.Close()
	opts.Certificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := running(t, build(t, opts, store), ln)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return client, "https://" + ln.Addr().String()
}

// get sends a request over a client.
func get(ctx context.Context, t *testing.T, client *http.Client, url, token string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestHTTP2: streams are served over TLS with HTTP/2, several on one connection, and
// end at the exp of their tokens.
func TestHTTP2(t *testing.T) {
	store := newMemory()
	store.add("s", events.ToolCallStart, `{"type":"tool_call_start"}`)
	client, url := secureServer(t, withTokens(t), store)
	long, short := signedToken(t, "alice", everything, time.Hour), signedToken(t, "bob", everything, 2*time.Second)
	stays := get(t.Context(), t, client, url+"/v1/sessions/s/events", long)
	ends := get(t.Context(), t, client, url+"/v1/sessions/s/events", short)
	for _, resp := range []*http.Response{stays, ends} {
		if resp.ProtoMajor != 2 || resp.StatusCode != 200 || resp.TLS == nil || resp.TLS.Version < tls.VersionTLS12 {
			t.Fatalf("got %s %d", resp.Proto, resp.StatusCode)
		}
	}
	text, err := io.ReadAll(ends.Body)
	if err != nil || !strings.Contains(string(text), "tool_call_start") || !strings.HasSuffix(string(text), "event: stream.end\ndata: {\"reason\":\"expired\"}\n\n") {
		t.Errorf("the stream of the short token: got %v and %s", err, text)
	}
	store.add("s", events.ToolCallResult, `{"type":"tool_call_result"}`)
	buf, all := make([]byte, 4096), ""
	for !strings.Contains(all, "tool_call_result") {
		n, err := stays.Body.Read(buf)
		if err != nil {
			t.Fatalf("the stream of the long token: %v after %s", err, all)
		}
		all += string(buf[:n])
	}
}

// TestOriginOnTLS: a page without TLS is another origin than the same host with TLS.
func TestOriginOnTLS(t *testing.T) {
	client, url := secureServer(t, Options{}, newMemory())
	for origin, want := range map[string]int{url: 200, "http" + strings.TrimPrefix(url, "https"): 403} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/sessions", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("origin %s: got %d, want %d", origin, resp.StatusCode, want)
		}
	}
}

// TestPlainOnTLS: a client without TLS gets no answer of the gateway, and one with an
// old version of TLS gets none.
func TestPlainOnTLS(t *testing.T) {
	_, url := secureServer(t, Options{}, newMemory())
	if resp, body := do(t, "GET", "http"+strings.TrimPrefix(url, "https")+"/healthz", ""); resp.StatusCode != 400 {
		t.Errorf("without TLS: got %d %s, want 400", resp.StatusCode, body)
	}
	old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(url, "https://"), old)
	if err == nil {
		conn.Close()
		t.Error("TLS 1.1 is accepted")
	}
	if errors.Is(err, io.EOF) {
		t.Errorf("TLS 1.1: got %v, want a refusal", err)
	}
}
