package tap

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// TestBodies: bodies are the same on both sides.
func TestBodies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	text := []byte(`{"model":"m","messages":[{"role":"user","content":"\u00e4 ` + secretBody + `"}], "x" : 1.0e5 }` + "\n\n")
	var got [sha256.Size]byte
	var answer []byte
	url, _, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		_, _ = io.Copy(h, r.Body)
		got = [sha256.Size]byte(h.Sum(nil))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(answer)
	}), nil)
	for _, path := range []string{"/openai/v1/chat/completions", "/openai/v1/embeddings", "/anthropic/v1/messages", "/gemini/v1beta/models/m:generateContent?key=" + secretQuery} {
		for name, body := range map[string][]byte{"empty": nil, "byte": {0}, "JSON": text, "buffer": data[:32<<10], "buffer and one": data[:32<<10+1], "long": data} {
			for _, chunked := range []bool{false, true} {
				t.Run(fmt.Sprint(path[:12], " ", name, " chunked=", chunked), func(t *testing.T) {
					answer = body
					var src io.Reader = bytes.NewReader(body)
					if chunked {
						src = io.MultiReader(src)
					}
					res, err := http.Post(url+path, "application/json", src)
					if err != nil {
						t.Fatal(err)
					}
					defer res.Body.Close()
					back, err := io.ReadAll(res.Body)
					if err != nil || !bytes.Equal(back, body) {
						t.Errorf("the answer has %d bytes, which differ from the %d sent: %v", len(back), len(body), err)
					}
					if got != sha256.Sum256(body) {
						t.Error("the body of the request differs")
					}
				})
			}
		}
	}
	closeTap(t, tp)
	if w := tp.Warnings(); w != nil {
		t.Error(w)
	}
}

// TestRequestHeaders: the upstream gets the header fields of the client, without those of
// the connection, and no others.
func TestRequestHeaders(t *testing.T) {
	tests := []struct {
		name, sent string
		removed    []string
	}{
		{"few", "X-Api-Key: " + secretKey + "\r\n", nil},
		{"an SDK", "Accept: application/json\r\nContent-Type: application/json\r\nUser-Agent: OpenAI/JS 1\r\nX-Stainless-Retry-Count: 0\r\naccept-encoding: gzip, deflate, br, zstd\r\nAuthorization: Bearer " + secretKey + "\r\nanthropic-version: 2023-06-01\r\n", nil},
		{"repeated", "X-A: 1\r\nX-A: 2\r\nX-A: 1\r\nCookie: a=" + secretCookie + "\r\nCookie: b\r\nX-Empty:\r\nX-Bytes: \xff\xe4\r\n", nil},
		{"forwarded", "X-Forwarded-For: 10.0.0.1\r\nX-Forwarded-For: 10.0.0.2\r\nX-Forwarded-Host: h\r\nX-Forwarded-Proto: https\r\nForwarded: for=10.0.0.1\r\nX-Real-Ip: 10.0.0.1\r\nVia: 1.1 a\r\n", nil},
		{"of the connection", "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authorization: Basic " + secretKey + "\r\nProxy-Connection: keep-alive\r\nTe: gzip\r\nX-B: 1\r\n", []string{"Connection", "X-Hop", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Te"}},
		{"te", "Te: trailers\r\nX-B: 1\r\n", nil},
		{"of the tap", "Streamer-Session: s\r\nStreamer-Token: " + secretKey + "\r\nX-B: 1\r\n", []string{"Streamer-Session", "Streamer-Token"}},
		{"of tracing", "traceparent: 00-1-1-01\r\nbaggage: a=b\r\nOrigin: http://x\r\nRange: bytes=0-1\r\nExpect: \r\nIf-None-Match: \"x\"\r\n", nil},
	}
	var got http.Header
	var host string
	url, _, _ := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got, host = r.Header, r.Host }), nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, body := range []string{"", "{}"} {
				conn, front, path := dialTap(t, url+"/openai/v1/chat/completions")
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n%s", path, front, test.sent, len(body), body)
				res, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				want := http.Header{"Content-Length": {fmt.Sprint(len(body))}}
				for line := range strings.SplitSeq(strings.TrimSuffix(test.sent, "\r\n"), "\r\n") {
					name, value, _ := strings.Cut(line, ":")
					if name = http.CanonicalHeaderKey(name); !slices.Contains(test.removed, name) {
						want.Add(name, strings.TrimSpace(value))
					}
				}
				if !maps.EqualFunc(got, want, slices.Equal) {
					t.Errorf("the upstream got %v\nwant %v", got, want)
				}
				if host == front || host == "" {
					t.Errorf("the host is %q", host)
				}
			}
		})
	}
}

// TestTargets: the path and the query of a request are those of the client, below the base
// path of the upstream.
func TestTargets(t *testing.T) {
	tests := []struct{ name, base, sent, want string }{
		{"openai", "", "/v1/chat/completions", "/v1/chat/completions"},
		{"openai", "", "/chat/completions", "/v1/chat/completions"},
		{"openai", "", "/models", "/v1/models"},
		{"openai", "", "/models/a%2Fb", "/v1/models/a%2Fb"},
		{"openai", "", "/v2/other", "/v2/other"},
		{"openai", "", "/other", "/other"},
		{"openai", "", "", "/"},
		{"openai", "", "/", "/"},
		{"openai", "/v1", "/v1/chat/completions", "/v1/chat/completions"},
		{"openai", "/v1", "/chat/completions", "/v1/chat/completions"},
		{"openai", "/v1/", "/v1/responses", "/v1/responses"},
		{"openai", "/proxy/openai/v1", "/v1/responses", "/proxy/openai/v1/responses"},
		{"openai", "/proxy/openai", "/v1/responses", "/proxy/openai/v1/responses"},
		{"openai", "/proxy/openai", "/responses", "/proxy/openai/v1/responses"},
		{"anthropic", "", "/messages?beta=true", "/v1/messages?beta=true"},
		{"anthropic", "", "/v1/messages/count_tokens", "/v1/messages/count_tokens"},
		{"anthropic", "/v1", "/v1/messages", "/v1/messages"},
		{"gemini", "", "/v1beta/models/m:streamGenerateContent?alt=sse&key=" + secretQuery, "/v1beta/models/m:streamGenerateContent?alt=sse&key=" + secretQuery},
		{"gemini", "", "/models/m:generateContent", "/v1beta/models/m:generateContent"},
		{"gemini", "", "/v1/models/m:generateContent", "/v1/models/m:generateContent"},
		{"chatgpt", "/backend-api/codex", "/v1/responses", "/backend-api/codex/responses"},
		{"chatgpt", "/backend-api/codex", "/responses", "/backend-api/codex/responses"},
		{"own", "", "/model/us.anthropic.claude%3A0/invoke", "/model/us.anthropic.claude%3A0/invoke"},
		{"own", "/a%2Fb", "/model/x%3a0/converse-stream", "/a%2Fb/model/x%3a0/converse-stream"},
		{"own", "/base", "/a..b/...//c%2Fd", "/base/a..b/...//c%2Fd"},
		{"own", "", "/a//b//c", "/a//b//c"},
		{"own", "", "//a/../b/./c", "//a/../b/./c"},
		{"own", "", "/a%2F%2e%2E/%20;x=1/%E4%FF", "/a%2F%2e%2E/%20;x=1/%E4%FF"},
		{"own", "", "/v1/chat/completions?b=2&a=1;c=3&a=%zz&%&=&d", "/v1/chat/completions?b=2&a=1;c=3&a=%zz&%&=&d"},
		{"own", "", "/x?", "/x?"},
		{"own", "", "/x?a=b?c#", "/x?a=b?c#"},
		{"own", "", "/x?api-version=2024-10-21&a=+%20", "/x?api-version=2024-10-21&a=+%20"},
	}
	for _, test := range tests {
		t.Run(test.name+test.base+" "+test.sent, func(t *testing.T) {
			var got string
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI }))
			defer up.Close()
			url, _, _ := open(t, http.NotFoundHandler(), func(o *Options) {
				u, err := ParseUpstream(test.name + "=" + up.URL + test.base)
				if err != nil {
					t.Fatal(err)
				}
				o.Upstreams = []Upstream{u}
			})
			conn, host, path := dialTap(t, url+"/"+test.name)
			fmt.Fprintf(conn, "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\n{}", path, test.sent, host)
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if got != test.want {
				t.Errorf("the target is %q, want %q", got, test.want)
			}
		})
	}
}

// TestBasePath: a request reaches nothing beside the base path of its upstream.
func TestBasePath(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Errorf("the upstream got %s", r.RequestURI) }))
	defer up.Close()
	url, _, _ := open(t, http.NotFoundHandler(), func(o *Options) {
		u, err := ParseUpstream("own=" + up.URL + "/base")
		if err != nil {
			t.Fatal(err)
		}
		o.Upstreams = []Upstream{u}
	})
	for _, sent := range []string{"/..", "/../other", "/a/../../other", "/%2e%2E/other", "/a/.%2e", "/..%2fother", "/%252e%252e/other"} {
		conn, host, path := dialTap(t, url+"/own")
		fmt.Fprintf(conn, "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\n{}", path, sent, host)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		if res.Body.Close(); res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "the path leaves that of the upstream own, /base") {
			t.Errorf("%s: got %d %s", sent, res.StatusCode, body)
		}
	}
}

// TestAnswers: status, header fields, trailers and body of an answer are those of the
// upstream.
func TestAnswers(t *testing.T) {
	tests := []struct {
		name, sent string
		status     int
		header     http.Header // hop-by-hop fields as well
		body       string
		trailer    http.Header
	}{
		{"no type, no date", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, http.Header{"Content-Length": {"2"}}, "hi", nil},
		{"html", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", 200, http.Header{"Content-Length": {"6"}}, "<html>", nil},
		{"date", "HTTP/1.1 200 OK\r\nDate: long ago\r\nContent-Length: 0\r\n\r\n", 200, http.Header{"Date": {"long ago"}, "Content-Length": {"0"}}, "", nil},
		{"fields", "HTTP/1.1 201 Made\r\nX-MiXed: a\r\nset-cookie: a=" + secretCookie + "\r\nset-cookie: b\r\nX-Empty:\r\nVia: 1.1 x\r\nServer: s\r\nContent-Length: 0\r\n\r\n", 201, http.Header{"X-Mixed": {"a"}, "Set-Cookie": {"a=" + secretCookie, "b"}, "X-Empty": {""}, "Via": {"1.1 x"}, "Server": {"s"}, "Content-Length": {"0"}}, "", nil},
		{"of the connection", "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n", 200, http.Header{"Content-Length": {"0"}}, "", nil},
		{"nothing", "HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", 204, http.Header{"X-A": {"1"}}, "", nil},
		{"not modified", "HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n", 304, http.Header{"Etag": {`"x"`}}, "", nil},
		{"redirect", "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/elsewhere\r\nContent-Length: 0\r\n\r\n", 307, http.Header{"Location": {"http://127.0.0.1:1/elsewhere"}, "Content-Length": {"0"}}, "", nil},
		{"bad request", "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"error\":{}}", 400, http.Header{"Content-Type": {"application/json"}, "Content-Length": {"12"}}, `{"error":{}}`, nil},
		{"too many", "HTTP/1.1 429 Too Many\r\nretry-after-ms: 20\r\nRetry-After: 1\r\nx-should-retry: true\r\nContent-Length: 0\r\n\r\n", 429, http.Header{"Retry-After-Ms": {"20"}, "Retry-After": {"1"}, "X-Should-Retry": {"true"}, "Content-Length": {"0"}}, "", nil},
		{"overloaded", "HTTP/1.1 529 Busy\r\nContent-Length: 0\r\n\r\n", 529, http.Header{"Content-Length": {"0"}}, "", nil},
		{"chunks", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", 200, http.Header{"Content-Type": {"text/event-stream"}}, "abcd", nil},
		{"no chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, http.Header{}, "", nil},
		{"trailers", "HTTP/1.1 200 OK\r\nTrailer: X-T, X-U\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-T: 1\r\nX-U: 2\r\n\r\n", 200, http.Header{}, "a", http.Header{"X-T": {"1"}, "X-U": {"2"}}},
		{"trailers of nothing", "HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: 1\r\n\r\n", 200, http.Header{}, "", http.Header{"X-T": {"1"}}},
		{"unannounced trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-T: 1\r\n\r\n", 200, http.Header{}, "a", http.Header{"X-T": {"1"}}},
		{"early hints", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", 200, http.Header{"Content-Length": {"1"}}, "a", nil},
		{"compressed", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", 200, http.Header{"Content-Encoding": {"gzip"}, "Content-Length": {"3"}}, "abc", nil},
		{"until the end", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nabc", 200, http.Header{"Content-Type": {"text/event-stream"}}, "abc", nil},
		{"HTTP/1.0", "HTTP/1.0 200 OK\r\n\r\nabc", 200, http.Header{}, "abc", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, target := range []string{"/openai/v1/chat/completions", "/openai/v1/embeddings"} {
				once := func(c net.Conn, r *bufio.Reader) {
					readRequest(r)
					_, _ = io.WriteString(c, test.sent)
				}
				url, _, _ := openRaw(t, once, nil)
				conn, host, path := dialTap(t, url+target)
				fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\n{}", path, host)
				r := bufio.NewReader(conn)
				res, err := http.ReadResponse(r, nil)
				if err == nil && res.StatusCode == http.StatusEarlyHints {
					if got := res.Header.Get("Link"); got != "</x>" || test.name != "early hints" {
						t.Errorf("early hints: %v", res.Header)
					}
					res, err = http.ReadResponse(r, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				if err != nil || string(body) != test.body || res.StatusCode != test.status {
					t.Errorf("status %d, body %q, %v; want %d, %q", res.StatusCode, body, err, test.status, test.body)
				}
				if !maps.EqualFunc(res.Header, test.header, slices.Equal) {
					t.Errorf("the header is %v\nwant %v", res.Header, test.header)
				}
				if !maps.EqualFunc(res.Trailer, test.trailer, slices.Equal) {
					t.Errorf("the trailers are %v, want %v", res.Trailer, test.trailer)
				}
			}
		})
	}
}

// TestRequestTrailers: announced trailers of a request reach the upstream.
func TestRequestTrailers(t *testing.T) {
	var got http.Header
	url, _, _ := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got = r.Trailer
	}), nil)
	conn, host, path := dialTap(t, url+"/openai/v1/chat/completions")
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-T: 1\r\n\r\n", path, host)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got.Get("X-T") != "1" {
		t.Errorf("the trailers are %v", got)
	}
}

// compressed returns a text in an encoding, with a flush after each event.
func compressed(t testing.TB, encoding, text string) []byte {
	t.Helper()
	out, end := flushed(t, encoding, text)
	return append(out, end...)
}

// flushed is compressed in two parts: what follows the last flush is the second.
func flushed(t testing.TB, encoding, text string) (all, end []byte) {
	t.Helper()
	var out bytes.Buffer
	var w interface {
		io.WriteCloser
		Flush() error
	}
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "deflate":
		w = zlib.NewWriter(&out)
	case "bare deflate":
		w, _ = flate.NewWriter(&out, 9)
	case "br":
		w = brotli.NewWriter(&out)
	case "zstd":
		w, _ = zstd.NewWriter(&out)
	}
	for event := range strings.SplitAfterSeq(text, "\n\n") {
		_, _ = io.WriteString(w, event)
		_ = w.Flush()
	}
	n := out.Len()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()[:n:n], out.Bytes()[n:]
}

// TestEncodings: a compressed answer is passed on as it is, and its copy is read. So is
// a compressed request.
func TestEncodings(t *testing.T) {
	tests := []struct {
		header string
		list   []string
	}{
		{"gzip", []string{"gzip"}},
		{"X-GZIP", []string{"gzip"}},
		{"deflate", []string{"deflate"}},
		{"deflate", []string{"bare deflate"}},
		{"br", []string{"br"}},
		{"zstd", []string{"zstd"}},
		{"gzip, br", []string{"gzip", "br"}},
		{"identity", nil},
	}
	for _, test := range tests {
		t.Run(strings.Join(append(test.list, test.header), " "), func(t *testing.T) {
			encode := func(text string) string {
				for _, e := range test.list {
					text = string(compressed(t, e, text))
				}
				return text
			}
			request, answer := encode(`{"stream":true,"messages":[{"role":"user","content":"weather?"}]}`), encode(chatCall)
			url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); string(body) != request {
					t.Errorf("the upstream got %q", body)
				}
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Content-Encoding", test.header)
				for piece := range slices.Chunk([]byte(answer), 7) {
					_, _ = w.Write(piece)
					_ = http.NewResponseController(w).Flush()
				}
			}), nil)
			// An explicit Accept-Encoding keeps the client from decompressing.
			if got := post(t, url+"/openai/v1/chat/completions", request, "Content-Encoding", test.header, "Accept-Encoding", test.header); got != answer {
				t.Errorf("the answer is %q", got)
			}
			checkStory(t, l, tp, `S: human weather?
				S: call call_1 weather
				S: args call_1 {"city":"Oslo"}`)
		})
	}
}

// TestFlush: bytes are passed on when they arrive, also those of an answer with a length,
// and the header before them.
func TestFlush(t *testing.T) {
	for _, kind := range []string{"application/json", "text/event-stream", "application/octet-stream", ""} {
		for _, length := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s length=%v", kind, length), func(t *testing.T) {
				turn := make(chan bool)
				url, _, _ := openRaw(t, func(c net.Conn, r *bufio.Reader) {
					readRequest(r)
					head := "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n"
					if length {
						head += "Content-Length: 10\r\n"
					}
					_, _ = io.WriteString(c, head+"\r\n")
					for i := range 10 {
						<-turn
						fmt.Fprint(c, i)
					}
				}, nil)
				res, err := http.Post(url+"/openai/v1/chat/completions", "application/json", strings.NewReader(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				for i := range 10 {
					turn <- true
					b := make([]byte, 1)
					if _, err := io.ReadFull(res.Body, b); err != nil || b[0] != '0'+byte(i) {
						t.Fatal(i, b, err)
					}
				}
			})
		}
	}
}

// TestFastAnswers: no answer is cut that arrives while the request is sent
// (https://go.dev/issue/40747).
func TestFastAnswers(t *testing.T) {
	url, _, tp := openRaw(t, replies("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"), nil)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	faults := make(chan error, 1000)
	for range 10 {
		wg.Go(func() {
			for range 100 {
				res, err := client.Post(url+"/openai/v1/chat/completions", "application/json", strings.NewReader(`{"messages":[]}`))
				if err != nil {
					faults <- err
					continue
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || string(body) != "abc" {
					faults <- errors.Join(err, fmt.Errorf("the answer is %q", body))
				}
			}
		})
	}
	wg.Wait()
	close(faults)
	for err := range faults {
		t.Error(err)
	}
	closeTap(t, tp)
}

// TestRefusals: what the tap answers itself.
func TestRefusals(t *testing.T) {
	url, _, _ := open(t, http.NotFoundHandler(), func(o *Options) {
		u, err := ParseUpstream("away=http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		o.Upstreams = append(o.Upstreams, u)
	})
	tests := []struct{ path, want string }{
		{"/", `{"upstreams":["openai","anthropic","gemini","ollama","away"]}`},
		{"/other/v1/chat/completions", `{"error":{"message":"streamer tap: there is no upstream \"other\"; the tap has openai, anthropic, gemini, ollama, away","type":"streamer_tap"}}`},
		{"/away/v1/chat/completions?key=" + secretQuery, `{"error":{"message":"streamer tap: the upstream away (127.0.0.1:1) gave no answer: dial tcp 127.0.0.1:1: connect: connection refused","type":"streamer_tap"}}`},
	}
	for _, test := range tests {
		if got := strings.TrimSpace(post(t, url+test.path, "{}", "Authorization", secretKey)); got != test.want {
			t.Errorf("%s: got %s\nwant %s", test.path, got, test.want)
		}
	}
}

// hash returns the digest of a text.
func hash(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
