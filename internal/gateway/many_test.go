package gateway

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"streamer/internal/auth"
	"streamer/internal/events"
)

// TestManySessions checks that one stream has the events of several sessions, with
// one cursor, and nothing of other sessions.
func TestManySessions(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/events"
	for _, session := range []string{"a 1", "b", "c", "b", "a 1"} {
		store.add(session, events.RunStarted, `{}`)
	}
	f := openStream(t, url+"?session=a%201&session=b&session=b&session=later")
	f.want("stream.open", "1 run_started", "2 run_started", "4 run_started", "5 run_started", "stream.live")
	store.add("c", events.RunFinished, `{}`)
	store.add("later", events.RunFinished, `{}`)
	f.want("7 run_finished")
	openStream(t, url+"?session=a%201&session=b", "Last-Event-ID: 2").want("stream.open", "4 run_started", "5 run_started", "stream.live")
	openStream(t, url+"?pattern=*a*").want("stream.open", "1 run_started", "5 run_started", "7 run_finished", "stream.live")
	openStream(t, url+"?pattern=*&types=run_finished").want("stream.open", "6 run_finished", "7 run_finished", "stream.live")
}

// TestManyRefused checks the errors of the stream of several sessions.
func TestManyRefused(t *testing.T) {
	store := newMemory()
	store.some("s", 3)
	store.some("t", 3)
	url := serve(t, Options{}, store) + "/v1/events"
	for _, c := range []struct {
		query  string
		status int
		text   string
	}{
		{"", 400, "the query has 0 sessions; it needs 1 to 100"},
		{"?" + strings.Repeat("session=a&", 101), 400, "has 101 sessions"},
		{"?session=a&pattern=b", 400, "a pattern and sessions"},
		{"?pattern=a&pattern=b", 400, "more than one pattern"},
		{"?pattern=" + strings.Repeat("a", 300), 400, "longer than 256"},
		{"?session=%ff", 400, "not UTF-8"},
		{"?session=", 400, ""},
		{"?session=s&protocol=ai-sdk", 400, `has the protocol native, not`},
		{"?session=s&types=x", 400, "not an event type"},
		{"?session=s&last_event_id=99", 400, "the log ends at 6"},
		{"?session=s&session=u&last_event_id=5", 400, "the cursor 5 is an event of another session"},
		{"?pattern=s&last_event_id=5", 400, "the cursor 5 is an event of another session"},
	} {
		t.Run(c.query, func(t *testing.T) {
			if resp, body := do(t, "GET", url+c.query, ""); resp.StatusCode != c.status || !strings.Contains(body, c.text) {
				t.Errorf("%.60s: got %d %s, want %d with %q", c.query, resp.StatusCode, body, c.status, c.text)
			}
		})
	}
}

// TestMatches checks patterns.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "a/b", true},
		{"a", "a", true},
		{"a", "ab", false},
		{"", "a", false},
		{"support-*", "support-7", true},
		{"support-*", "support", false},
		{"support-*", "x support-7", false},
		{"*-7", "support-7", true},
		{"a*b*c", "aXbYc", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false},
		{"*b*b*", "abab", true},
		{"*b*b*", "ab", false},
		{"a**c", "abc", true},
		{"[a]?", "[a]?", true},
		{"[a]", "a", false},
	} {
		t.Run(c.pattern+" "+c.name, func(t *testing.T) {
			if got := auth.Match(c.pattern, c.name); got != c.want {
				t.Errorf("%q, %q: got %v, want %v", c.pattern, c.name, got, c.want)
			}
		})
	}
}

// TestGone checks that a cursor is refused only if events of its own session that
// follow it are not stored any more.
func TestGone(t *testing.T) {
	store := newMemory()
	store.some("quiet", 1) // 1
	store.some("busy", 5)  // 2 to 6
	store.some("quiet", 1) // 7
	store.some("lost", 1)  // 8
	store.some("quiet", 1) // 9
	store.forget(9)
	base := serve(t, Options{}, store) + "/v1/"
	for _, c := range []struct {
		path   string
		cursor string
		status int
	}{
		{"sessions/quiet/events?", "7", 200},
		{"sessions/quiet/events?", "1", 410}, // 7 is gone
		{"sessions/lost/events?", "3", 410},  // whether another event followed is not known
		{"events?session=quiet", "7", 200},
		{"events?session=quiet&session=lost", "7", 410},
		{"events?pattern=q*", "7", 410},
	} {
		t.Run(c.path+" "+c.cursor, func(t *testing.T) {
			resp := start(t, "GET", base+c.path, "", "Last-Event-ID: "+c.cursor)
			if resp.StatusCode != c.status || (resp.Header.Get("Streamer-Retention") == "86400") != (c.status == 410) {
				t.Errorf("%s after %s: got %d, want %d; retention %q", c.path, c.cursor, resp.StatusCode, c.status, resp.Header.Get("Streamer-Retention"))
			}
		})
	}
}

// TestRotation checks that a stream ends within the last fifth of its maximum age
// with its own reason.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		stop := running(t, build(t, Options{MaxAge: 10 * time.Minute, Heartbeat: time.Hour}, store), ln)
		defer stop()
		conn := ln.dial(t)
		if _, err := conn.Write([]byte("GET /v1/sessions/s/events HTTP/1.0\r\nHost: localhost\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		var text strings.Builder
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			text.Write(buf[:n])
			if err != nil {
				break
			}
		}
		if took := time.Since(start); took < 8*time.Minute || took > 10*time.Minute {
			t.Errorf("the stream ended after %s, want 8 to 10 minutes", took)
		}
		if !strings.HasSuffix(text.String(), "event: stream.end\ndata: {\"reason\":\"rotation\"}\n\n") {
			t.Errorf("got %q", text.String())
		}
	})
}

// FuzzMatches compares matches with a regular expression.
func FuzzMatches(f *testing.F) {
	f.Add("a*b*c", "aXbYc")
	f.Add("*a*a*", "ba")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			t.Skip() // regular expressions have no bytes that are not UTF-8
		}
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want := regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(name)
		if got := auth.Match(pattern, name); got != want {
			t.Errorf("%q, %q: got %v, want %v", pattern, name, got, want)
		}
	})
}
