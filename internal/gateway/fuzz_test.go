package gateway

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
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
