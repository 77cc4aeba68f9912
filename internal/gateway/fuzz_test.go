package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/repair"
)

// FuzzRights: whatever the method, the path, the query and a header are, a client with
// the rights on session s reads nothing of another session and stores nothing for it.
func FuzzRights(f *testing.F) {
	opts := withTokens(f)
	opts.MaxPerClient = 1 << 30
	bearer := "Bearer " + signedToken(f, "alice", `{"watch":["s"],"publish":["s"],"interrupt":["s"]}`, time.Hour)
	for _, path := range []string{
		"/v1/sessions/s/events", "/v1/sessions/t/events/1", "/v1/sessions/t/events/1/args", "/v1/sessions/s/../t/events",
		"/v1/sessions/s%2F..%2Ft/events/1", "/v1/ai-sdk/t/stream", "/v1/sessions", "/v1/sessions/t/deltas", "/v1/login", "/metrics", "//v1//sessions//t//events", "*", "/%74",
	} {
		f.Add("GET", path, "last_event_id=0&after=1", "Last-Event-ID", "0")
		f.Add("POST", path, "", "X-HTTP-Method-Override", "GET")
	}
	f.Fuzz(func(t *testing.T, method, path, query, name, value string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || strings.ContainsAny(method, " \r\n") || method == "" {
			return
		}
		u.RawQuery = query
		store := newMemory()
		store.add("t", events.ToolCallArgsComplete, `{"type":"tool_call_args_complete","args_text":"SECRET"}`)
		store.info = []SessionInfo{{Session: "SECRET"}, {Session: "s"}}
		g := build(t, opts, store)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // ends a stream
		defer cancel()
		r := (&http.Request{
			Method: method, URL: u, RequestURI: path, Host: "localhost", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{http.CanonicalHeaderKey(name): {value}}, Body: http.NoBody, RemoteAddr: "192.0.2.1:1",
		}).WithContext(ctx)
		r.Header.Set("Authorization", bearer)
		w := httptest.NewRecorder()
		func() {
			defer func() {
				p := recover()
				if err, ok := p.(error); p != nil && (!ok || !errors.Is(err, http.ErrAbortHandler)) { // which cuts a stream off
					panic(p)
				}
			}()
			g.ServeHTTP(w, r)
		}()
		if strings.Contains(w.Body.String(), "SECRET") && !strings.Contains(path+query+value, "SECRET") {
			t.Errorf("%s %s?%s %s: %s: got %d %s", method, path, query, name, value, w.Code, w.Body)
		}
		for _, in := range store.inputs {
			if in.token != "s" {
				t.Errorf("%s %s: stored %v", method, path, in)
			}
		}
	})
}

// FuzzRequest: whatever bytes a client without a token sends as a request, nothing of a
// session is read or stored, and no header of the answer is the client's.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		"GET /v1/sessions/t/events", "HEAD //v1/sessions/t/events/1", "GET /v1/sessions/%74/events/1/args", "POST /v1/sessions/t/deltas", "PUT http://localhost/v1/sessions/t/results",
		"OPTIONS *", "GET /%0d%0aX-Injected:%20yes", "POST /v1/login", "CONNECT localhost:80", "GET /v1/events?session=t&session=%ff", "GET /metrics?;=", "POST /v1/repair",
	} {
		f.Add([]byte(line + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"))
		f.Add([]byte(line + " HTTP/1.0\r\nAuthorization: Bearer\r\nCookie: streamer=; streamer=x\r\nOrigin: http://x\r\n\r\n"))
		f.Add([]byte(line + " HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\nX-Forwarded-Proto: https\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err != nil {
			return // net/http answers it
		}
		store := newMemory()
		store.add("t", events.ToolCallArgsComplete, `{"type":"tool_call_args_complete","args_text":"SECRET"}`)
		store.info = []SessionInfo{{Session: "SECRET"}}
		g := build(t, Options{Token: "0123456789abcdef", Repairs: &repair.Service{}}, store)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r.WithContext(ctx))
		if w.Code < 200 || w.Code > 599 || w.Header().Get("X-Injected") != "" || len(store.inputs) > 0 {
			t.Errorf("%q: got %d %v, stored %v", text, w.Code, w.Header(), store.inputs)
		}
		if strings.Contains(w.Body.String(), "SECRET") && !bytes.Contains(text, []byte("SECRET")) {
			t.Errorf("%q: got %s", text, w.Body)
		}
	})
}
