package gateway

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
)

// TestNextRequest: a request that a client sends on the connection of a stream, at the
// moment when the stream ends, is answered. If the server closed the connection instead,
// the clients of Go and Node would fail: they do not repeat a POST. Connection: close
// would prevent that, but with it fetch in Node takes a lost connection for the end.
func TestNextRequest(t *testing.T) {
	store := newMemory()
	(&folded{t: t, store: store}).message("m1", "one", "")
	secure, secureURL := secureServer(t, Options{}, store)
	secure.Transport.(*http.Transport).ForceAttemptHTTP2 = false // streams of HTTP/2 do not take a connection over
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := running(t, build(t, Options{}, store), ln)
	for url, client := range map[string]*http.Client{"http://" + ln.Addr().String(): {Transport: &http.Transport{}}, secureURL: secure} {
		connections := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				connections++
			}
		}})
		for range 50 {
			for _, c := range []struct{ method, path, body, end string }{
				{"GET", "/v1/ai-sdk/s/stream?after=1", "", "[DONE]\n\n"},
				{"POST", "/v1/sessions/s/deltas", "{}", "}\n"},
			} {
				req, err := http.NewRequestWithContext(ctx, c.method, url+c.path, strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !strings.HasSuffix(string(got), c.end) {
					t.Fatalf("%s: got %v and %q, want the end %q", c.path, err, got, c.end)
				}
			}
		}
		if connections != 1 {
			t.Errorf("%s: the client opened %d connections, want 1", url, connections)
		}
		client.CloseIdleConnections()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
