package tap

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEarlyAnswers: an answer that does not wait for the body of the request is passed on
// whole, and the server of the tap does not fail.
func TestEarlyAnswers(t *testing.T) {
	const text = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 12\r\n\r\n{\"error\":{}}"
	early := func(c net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err != nil {
			return
		}
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, r)
	}
	_, _, tp := openRaw(t, early, func(o *Options) {
		u, err := ParseUpstream("away=http://127.0.0.1:1")
		if err != nil {
			t.Fatal(err)
		}
		o.Upstreams = append(o.Upstreams, u)
	})
	front := httptest.NewUnstartedServer(tp)
	var faults logBuffer
	front.Config.ErrorLog = log.New(&faults, "", 0)
	front.Start()
	defer front.Close()
	for _, path := range []string{"/openai/v1/chat/completions", "/openai/v1/embeddings", "/away/v1/chat/completions"} {
		for _, framing := range []string{"Content-Length: 200000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n30d40\r\n"} {
			t.Run(path+" "+framing[:8], func(t *testing.T) {
				conn, host, _ := dialTap(t, front.URL)
				fmt.Fprintf(conn, "POST /tap%s HTTP/1.1\r\nHost: %s\r\n%s{", path, host, framing)
				r := bufio.NewReader(conn)
				res, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				if err != nil || !strings.HasPrefix(string(body), `{"error":{`) {
					t.Errorf("got %q, %v", body, err)
				}
				// The rest of the request, after which the connection ends.
				_, _ = io.WriteString(conn, strings.Repeat(" ", 199_999)+"\r\n0\r\n\r\n")
				if _, err := io.Copy(io.Discard, r); err != nil {
					t.Log(err)
				}
			})
		}
	}
	front.Close()
	closeTap(t, tp)
	if faults.String() != "" {
		t.Error(faults.String())
	}
	if w := tp.Warnings(); w != nil {
		t.Error(w)
	}
}
