package tap

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"streamer/internal/inputs"
	"streamer/test/testkit"
)

// TestHostileHeads: an answer whose head is endless or wrong is no answer, and nothing of
// it is logged.
func TestHostileHeads(t *testing.T) {
	endless := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, text, i); err != nil {
					return
				}
			}
		}
	}
	tests := map[string]func(net.Conn){
		"endless fields": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			endless("X-%d: " + strings.Repeat("x", 1000) + "\r\n")(c)
		},
		"endless field": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			endless("%d" + strings.Repeat("x", 1000))(c)
		},
		"no HTTP":    func(c net.Conn) { _, _ = io.WriteString(c, secretBody+" hello\r\n\r\n") },
		"bad status": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 "+secretBody+"\r\n\r\n") },
		"bad field":  func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nSet-Cookie "+secretCookie+"\r\n\r\n") },
		"bad length": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: "+secretBody+"\r\n\r\n")
		},
		"two lengths": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
		},
		"bad coding": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: "+secretBody+"\r\n\r\n")
		},
		"unwanted upgrade": func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+secretBody+"\r\n\r\n")
		},
		"nothing": func(c net.Conn) {},
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			url, l, tp := openRaw(t, func(c net.Conn, r *bufio.Reader) {
				readRequest(r)
				answer(c)
			}, nil)
			conn, host, path := dialTap(t, url+"/openai/v1/chat/completions?key="+secretQuery)
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s", path, host, secretKey, len(ask), ask)
			r := bufio.NewReader(conn)
			res, err := http.ReadResponse(r, nil)
			for err == nil && res.StatusCode == http.StatusEarlyHints {
				res, err = http.ReadResponse(r, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusBadGateway {
				t.Errorf("status %d", res.StatusCode)
			}
			checkStory(t, l, tp, "S: human weather?")
		})
	}
}

// TestHostileBodies: an answer with a wrong length, chunk or encoding reaches the client as
// it is.
func TestHostileBodies(t *testing.T) {
	tests := []struct {
		name, answer, body string
		cut, lost          bool
	}{
		{"too short", "Content-Length: 10\r\n\r\nabc", "abc", true, false},
		{"too long", "Content-Length: 3\r\n\r\nabcdef", "abc", false, false},
		{"bad chunk", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", "abc", true, false},
		{"endless chunk line", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" + strings.Repeat("1", 1<<16), "abc", true, false},
		{"no gzip", "Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n01234567890123456789", "01234567890123456789", false, true},
		{"no br", "Content-Encoding: br\r\nContent-Length: 20\r\n\r\n01234567890123456789", "01234567890123456789", false, true},
		{"no zstd", "Content-Encoding: zstd\r\nContent-Length: 20\r\n\r\n01234567890123456789", "01234567890123456789", false, true},
		{"no deflate", "Content-Encoding: deflate\r\nContent-Length: 20\r\n\r\nx1234567890123456789", "x1234567890123456789", false, true},
		{"unknown encoding", "Content-Encoding: other\r\nContent-Length: 3\r\n\r\nabc", "abc", false, true},
		{"nothing of gzip", "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", "", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			url, _, tp := openRaw(t, func(c net.Conn, r *bufio.Reader) {
				readRequest(r)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+test.answer)
			}, nil)
			req, err := http.NewRequest(http.MethodPost, url+"/openai/v1/chat/completions", strings.NewReader(ask))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", "gzip") // keeps the client from decompressing
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if string(body) != test.body || test.cut != (err != nil) {
				t.Errorf("the client got %q, %v", body, err)
			}
			closeTap(t, tp)
			if lost := tp.Warnings() != nil; lost != test.lost {
				t.Errorf("the warnings are %q", tp.Warnings())
			}
		})
	}
}

// bomb returns the gzip of a text of many bytes.
func bomb(t *testing.T, head string, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, head)
	zeros := bytes.Repeat([]byte("a"), 1<<20)
	for range n >> 20 {
		_, _ = w.Write(zeros)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestBombs: a copy that becomes large when it is decompressed takes a bounded memory, and
// the client gets the answer.
func TestBombs(t *testing.T) {
	const size = 16 << 20
	for kind, head := range map[string]string{
		"text/event-stream": "data: ", "application/json": `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`,
		"application/x-ndjson": "", "application/vnd.amazon.eventstream": "\x00\x00\x00",
	} {
		t.Run(kind, func(t *testing.T) {
			answer := bomb(t, head, size)
			var published, heap atomic.Uint64
			url, _, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", kind)
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(answer)
			}), func(o *Options) {
				o.Publish = func(_ context.Context, _ string, _ inputs.Kind, _ string, _ inputs.Header, data []byte) (uint64, bool, error) {
					if n := published.Add(uint64(len(data))); n/(8<<20) != (n-uint64(len(data)))/(8<<20) {
						runtime.GC() // what is garbage depends on the machine
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						heap.Store(max(heap.Load(), m.HeapAlloc))
					}
					return 1, false, nil
				}
			})
			if got := post(t, url+"/openai/v1/chat/completions", ask, "Accept-Encoding", "gzip"); got != string(answer) {
				t.Errorf("the client got %d bytes of %d", len(got), len(answer))
			}
			ctx, cancel := context.WithTimeout(t.Context(), testkit.Within)
			defer cancel()
			tp.Close(ctx)
			if ctx.Err() != nil {
				t.Error("the tap did not end")
			}
			if n := published.Load(); n > size+1<<20 {
				t.Errorf("%d bytes are published", n)
			}
			if n := heap.Load(); n > 100<<20 {
				t.Errorf("the heap has %d MB", n>>20)
			}
		})
	}
	t.Run("request", func(t *testing.T) {
		body := string(bomb(t, `{"x":"`, 2*maxRequest))
		url, l, tp := open(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got, err := io.ReadAll(r.Body); err != nil || string(got) != body {
				t.Errorf("the upstream got %d bytes, %v", len(got), err)
			}
		}), nil)
		post(t, url+"/openai/v1/chat/completions", body, "Content-Encoding", "gzip")
		closeTap(t, tp)
		if tp.Warnings() == nil || len(l.inputs) != 1 || !strings.Contains(l.inputs[0], "the tap passed on a request") {
			t.Errorf("the loss is not counted: %.1000q", l.inputs)
		}
	})
}

// TestDecodedBound: what a copy has beyond a limit is lost.
func TestDecodedBound(t *testing.T) {
	for _, encoding := range []string{"gzip", "deflate", "br", "zstd", "identity"} {
		src := []byte(strings.Repeat("a", 1000))
		if encoding != "identity" {
			src = compressed(t, encoding, string(src))
		}
		r, err := decoded(bytes.NewReader(src), encoding, 100)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, r); n != 100 || !errors.Is(err, errLost) {
			t.Errorf("%s: read %d bytes, %v", encoding, n, err)
		}
	}
}

// TestRefusedInput: an error of the store that has a reason not to try again is a loss.
func TestRefusedInput(t *testing.T) {
	url, l, tp := open(t, sse(chatCall), nil)
	l.mu.Lock()
	l.fail = errors.Join(errors.New("m"), inputs.ErrTooLarge)
	l.mu.Unlock()
	if got := post(t, url+"/openai/v1/chat/completions", ask); got != chatCall {
		t.Errorf("the client got %q", got)
	}
	closeTap(t, tp)
	if tp.Warnings() == nil {
		t.Error("the loss is not counted")
	}
}
