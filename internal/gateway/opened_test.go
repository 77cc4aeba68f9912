package gateway

import (
	"context"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/auth"
	"streamer/internal/events"
)

// bySubject returns options with which the token of a client is its subject.
func bySubject() Options {
	return Options{Verify: func(_ context.Context, token string) (*auth.Identity, error) {
		id := auth.Unlimited()
		id.Name = "issuer\n" + token
		return id, nil
	}}
}

// TestOpenSessions: a subject with as many open sessions as it may have begins no other one,
// until one of them has ended.
func TestOpenSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, store := bySubject(), newMemory()
		opts.MaxOpen = 2
		g := build(t, opts, store)
		post := func(subject, path string, want int) {
			t.Helper()
			r := httptest.NewRequest("POST", "/v1/sessions/"+path, strings.NewReader("{}"))
			r.Host = "localhost"
			r.Header.Set("Authorization", "Bearer "+subject)
			if strings.HasSuffix(path, "?chunked") {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			if g.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s, %s: got %d %s, want %d", subject, path, w.Code, w.Body, want)
			}
			const why = "this subject of tokens has 2 open sessions, which is the maximum"
			if n, err := strconv.Atoi(w.Header().Get("Retry-After")); want == 429 && (err != nil || n < 1 || !strings.Contains(w.Body.String(), why)) {
				t.Errorf("got %v %s, want Retry-After and %q", w.Header(), w.Body, why)
			}
		}
		post("alice", "s1/deltas", 202)
		post("alice", "s2/deltas?chunked", 202)
		post("alice", "s3/deltas", 429)
		post("alice", "s3/deltas?chunked", 429)
		post("alice", "s3/interrupt", 202)
		post("alice", "s1/deltas", 202)
		post("bob", "s3/deltas", 202)
		for session, types := range map[string][]events.Type{"s1": {events.RunStarted, events.RunFinished}, "s2": {events.RunStarted, events.RunFinished, events.RunStarted}} {
			for _, typ := range types {
				store.add(session, typ, "{}")
			}
		}
		time.Sleep(lookEvery)
		post("alice", "s3/deltas", 202) // instead of s1
		post("alice", "s4/deltas", 429)
		time.Sleep(unfoldedTime)
		post("alice", "s4/deltas", 202) // instead of s3, which has no events
		post("alice", "s5/deltas", 429) // s2 has a run that is open
		want := []ClientUsage{{"subject issuer\nalice", 2, true, 6, 0, 4}}
		if u := g.Usage(); u.Sessions != 2 || !slices.Equal(u.Clients, want) {
			t.Errorf("got %+v, want %+v", u, want)
		}
		if n := g.counts.throttled.Load(); n != 4 {
			t.Errorf("%d inputs are counted as throttled, want 4", n)
		}
	})
}

// TestRepeated: an input that was stored before is named in the answer, and counted.
func TestRepeated(t *testing.T) {
	url := serve(t, bySubject(), newMemory())
	for _, repeated := range []bool{false, true} {
		_, body := do(t, "POST", url+"/v1/sessions/s/deltas", "{}", "Authorization: Bearer alice", "Idempotency-Key: 1")
		if strings.Contains(body, `"duplicate":true`) != repeated {
			t.Errorf("got %s, want a duplicate: %t", body, repeated)
		}
	}
	const want = `streamer_http_inputs_repeated_total{client="subject issuer\nalice"} 1`
	if _, body := do(t, "GET", url+"/metrics", "", "Authorization: Bearer alice"); !strings.Contains(body, want) {
		t.Errorf("got %s, want %s", body, want)
	}
}

// TestDeltasDuringLook: a session that gets deltas while a look for ended ones is under way
// stays open, and the deltas do not wait for the look.
func TestDeltasDuringLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o opened
		o.note("a", 1)
		time.Sleep(lookEvery)
		ended := func(token string, _ time.Time) bool {
			time.Sleep(time.Second)
			return o.note(token, 1)
		}
		if o.add("b", 1, ended) {
			t.Error("another session was begun")
		}
		time.Sleep(lookEvery)
		if !o.add("b", 1, func(string, time.Time) bool { return true }) {
			t.Error("no other session can be begun when the first has ended")
		}
	})
}
