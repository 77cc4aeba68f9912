package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/auth"
	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/inputs"
)

const durablePath = "/v1/durable-streams/"

// offset returns the query for the events after a sequence.
func offset(seq uint64) string { return "?offset=" + encode.DurableOffset(seq) }

// TestDurableReads checks the answers to requests for stored events.
func TestDurableReads(t *testing.T) {
	const (
		rest  = `"session":"s","run":"1.0","timestamp":"2026-03-02T10:00:00.000Z"}`
		one   = `{"type":"run_started","event_id":"1.0",` + rest
		three = `{"type":"synthetic","event_id":"2.0","session":"s","call":"1.0","message":{"role":"tool"}}`
		four  = `{"type":"run_finished","status":"completed","event_id":"3.0",` + "\n" + rest
	)
	store := newMemory()
	store.add("s", events.RunStarted, one)
	store.add("t", events.RunStarted, `{}`)
	store.put("s", events.Record{Type: events.Synthetic, ID: events.ID{Seq: 2}, Call: "1.0", Data: []byte(`{"role":"tool"}`)})
	store.add("s", events.RunFinished, four)
	url := serve(t, Options{}, store) + durablePath
	const etag = `"00000000000000000001-00000000000000000004"`
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
		next         uint64
		body         string
		cache, etag  string
	}{
		{"GET", "s", nil, 200, 4, "[" + one + ",\n" + three + ",\n" + four + "]", "private, no-cache", `"00000000000000000000-00000000000000000004"`},
		{"GET", "s?offset=-1&cursor=x", nil, 200, 4, "[" + one + ",\n" + three + ",\n" + four + "]", "private, no-cache", `"00000000000000000000-00000000000000000004"`},
		{"GET", "s" + offset(1), nil, 200, 4, "[" + three + ",\n" + four + "]", "private, no-cache", etag},
		{"GET", "s" + offset(1), []string{"If-None-Match: " + etag}, 304, 4, "", "private, no-cache", etag},
		{"GET", "s" + offset(1), []string{`If-None-Match: "x", W/` + etag}, 304, 4, "", "private, no-cache", etag},
		{"GET", "s" + offset(3), []string{"If-None-Match: " + etag}, 200, 4, "[" + four + "]", "private, no-cache", `"00000000000000000003-00000000000000000004"`},
		{"GET", "s" + offset(4), nil, 200, 4, "[]", "private, no-cache", `"00000000000000000004-00000000000000000004"`},
		{"GET", "s?offset=now", nil, 200, 4, "[]", "no-store", ""},
		{"GET", "none", nil, 200, 0, "[]", "private, no-cache", `"00000000000000000000-00000000000000000000"`},
		{"GET", "none?offset=now", nil, 200, 0, "[]", "no-store", ""},
		{"GET", "s" + offset(1) + "&live=long-poll", nil, 200, 4, "[" + three + ",\n" + four + "]", "private, no-cache", etag},
		{"HEAD", "s", nil, 200, 4, "", "no-store", ""},
		{"HEAD", "s?offset=now&live=sse", nil, 200, 4, "", "no-store", ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			resp, body := do(t, c.method, url+c.path, "", c.headers...)
			h := resp.Header
			if resp.StatusCode != c.status || body != c.body || h.Get("Stream-Next-Offset") != encode.DurableOffset(c.next) || h.Get("Cache-Control") != c.cache || h.Get("ETag") != c.etag {
				t.Errorf("got %d, %q and %v\nwant %d, %q, next %d, %s, ETag %s", resp.StatusCode, body, h, c.status, c.body, c.next, c.cache, c.etag)
			}
			if c.method == "GET" && (h.Get("Stream-Up-To-Date") != "true" || h.Get("Stream-Cursor") == "") {
				t.Errorf("got %v, want Stream-Up-To-Date and Stream-Cursor", h)
			}
			if h.Get("Stream-Closed") != "" || c.status == 200 && h.Get("Content-Type") != "application/json" {
				t.Errorf("got %v, want an open stream of JSON", h)
			}
		})
	}
}

// TestDurableRefusals checks the requests that are refused, with the reason.
func TestDurableRefusals(t *testing.T) {
	store := newMemory()
	store.some("t", 3)
	store.some("s", 7)
	store.forget(6)
	url := serve(t, Options{}, store) + durablePath
	for _, c := range []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "s?offset=x", 400, "offset is none of this stream"},
		{"GET", "s?offset=", 400, "offset is empty"},
		{"GET", "s?offset=-1&offset=-1", 400, "there are several"},
		{"GET", "s?offset=1,2", 400, "offset is none of this stream"},
		{"GET", "s" + offset(99), 400, "another log"},
		{"GET", "t" + offset(7), 400, "another session"},
		{"GET", "s?live=yes&offset=-1", 400, "live is neither"},
		{"GET", "s?live=sse", 400, "offset is missing"},
		{"GET", "s?live=long-poll", 400, "offset is missing"},
		{"GET", "s" + offset(4), 410, "not stored any more"},
		{"GET", "s" + offset(4) + "&live=sse", 410, "not stored any more"},
		{"GET", "s" + offset(4) + "&live=long-poll", 410, "not stored any more"},
		{"PUT", "s", 405, "events are only read; send inputs to"},
		{"POST", "s", 405, "events are only read; send inputs to"},
		{"DELETE", "s", 405, "events are only read; send inputs to"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			resp, body := do(t, c.method, url+c.path, "")
			if resp.StatusCode != c.status || !strings.Contains(body, c.text) {
				t.Errorf("got %d %s, want %d %q", resp.StatusCode, body, c.status, c.text)
			}
		})
	}
	store.breakDown()
	for _, query := range []string{"", "?offset=now", "?offset=-1&live=long-poll", "?offset=-1&live=sse"} {
		if resp, _ := do(t, "GET", url+"s"+query, ""); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
			t.Errorf("GET %s of a broken log: got %d, want 503 with Retry-After", query, resp.StatusCode)
		}
	}
}

// TestDurableBatches checks that answers are bounded, and together have every event.
func TestDurableBatches(t *testing.T) {
	store := newMemory()
	for i := range 9 {
		store.add("s", events.AgentResponseChunk, fmt.Sprintf(`{"type":"agent_response_chunk","event_id":"%d.0","session":"s","run":"1.0","timestamp":"2026-03-02T10:00:00.000Z","message_id":"m","namespace":"","choice":0,"kind":"text","part":0,"offset":0,"content":%q}`, i, strings.Repeat("x", maxBatch/3)))
	}
	url := serve(t, Options{}, store) + durablePath + "s"
	var got []string
	query, answers := "?offset=-1", 0
	for upToDate := ""; upToDate == ""; answers++ {
		resp, body := do(t, "GET", url+query, "")
		var list []struct {
			ID string `json:"event_id"`
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil || len(list) > 3 {
			t.Fatalf("%s: got %d events, want 3 at most: %v", query, len(list), err)
		}
		for _, e := range list {
			got = append(got, strings.TrimSuffix(e.ID, ".0"))
		}
		query, upToDate = "?offset="+resp.Header.Get("Stream-Next-Offset"), resp.Header.Get("Stream-Up-To-Date")
	}
	if strings.Join(got, "") != "012345678" || answers != 4 { // the third cannot know that it is the last
		t.Errorf("got %q in %d answers, want 0 to 8 in 4", got, answers)
	}
}

// TestDurableValues checks that messages have large values, stored and live, and that other
// streams of the same events do not.
func TestDurableValues(t *testing.T) {
	store := newMemory()
	f := &folded{t: t, store: store}
	f.message("m1", "Look:", oneCall)
	url := serve(t, Options{}, store)
	native, _ := openFrames(t, "GET", url+"/v1/sessions/s/events", "")
	native.until("stream.live")
	live, _ := openFrames(t, "GET", url+durablePath+"s?offset=now&live=sse", "")
	live.until("control")
	f.add(inputs.Result, `{"tool_call_id":"call_a","content":"`+strings.Repeat("x", 100<<10)+`"}`)
	large := `"tool_result":"` + strings.Repeat("x", 100<<10)
	if line, err := live.r.ReadString(']'); err != nil || !strings.Contains(line, large) {
		t.Errorf("live: got %.300s, %v, want the large value", line, err)
	}
	if _, data := native.until("tool_call_result"); !strings.Contains(data, `"tool_result_ref":`) {
		t.Errorf("native: got %.300s, want a reference", data)
	}
	if _, body := do(t, "GET", url+durablePath+"s", ""); !strings.Contains(body, large) || strings.Contains(body, "_ref") {
		t.Errorf("stored: got %.300s, want the large value", body)
	}
}

// TestDurableStream checks the frames of the mode sse, for its path and for the parameter
// protocol.
func TestDurableStream(t *testing.T) {
	for _, query := range []string{durablePath + "s?live=sse&cursor=9007199254740000" + "&offset=1", "/v1/sessions/s/events?protocol=durable-streams&last_event_id=1"} {
		t.Run(query, func(t *testing.T) {
			store := newMemory()
			store.some("s", 2)
			resp := start(t, "GET", serve(t, Options{}, store)+query, "")
			f := sseFrames{t, bufio.NewReader(resp.Body)}
			control := func(id string, upToDate bool) {
				t.Helper()
				got, event, data := f.next()
				var c struct {
					StreamNextOffset, StreamCursor string
					UpToDate                       bool
				}
				if err := json.Unmarshal([]byte(data), &c); err != nil || got != id || event != "control" || c.UpToDate != upToDate || c.StreamNextOffset != fmt.Sprintf("%020s", id) {
					t.Fatalf("got %s %s %s, want a control frame %s, up to date %v", got, event, data, id, upToDate)
				}
				if strings.Contains(query, "cursor=9") != (len(c.StreamCursor) == 16) {
					t.Errorf("%s: the cursor is %s", query, c.StreamCursor)
				}
			}
			data := func() {
				t.Helper()
				if id, event, _ := f.next(); event != "data" || id != "" {
					t.Fatalf("got %s %s, want data", id, event)
				}
			}
			data()
			control("2", true)
			store.some("s", 1)
			data()
			control("3", true)
		})
	}
}

// TestDurablePoll checks that a long-poll waits for the next event of its session, and ends
// without one after a time, when the server stops, or when the token ends.
func TestDurablePoll(t *testing.T) {
	ended := Options{Verify: func(context.Context, string) (*auth.Identity, error) {
		id := auth.Unlimited()
		id.Expires = time.Now().Add(5 * time.Second)
		return id, nil
	}}
	for name, c := range map[string]struct {
		opts      Options
		act       func(store *memory, stop func() error) // after 5 s
		min, most time.Duration
		status    int
		next      uint64
	}{
		"event":    {Options{}, func(store *memory, _ func() error) { store.some("s", 1) }, 5 * time.Second, 5 * time.Second, 200, 4},
		"other":    {Options{}, func(store *memory, _ func() error) { store.some("t", 1) }, 15 * time.Second, 15 * time.Second, 204, 3},
		"time":     {Options{Heartbeat: time.Second}, func(*memory, func() error) {}, time.Second, time.Second, 204, 3},
		"shutdown": {Options{}, func(_ *memory, stop func() error) { _ = stop() }, 5 * time.Second, 8 * time.Second, 204, 3},
		"token":    {ended, func(*memory, func() error) {}, 5 * time.Second, 5 * time.Second, 204, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, ln := newMemory(), newPipes()
				store.some("s", 3)
				stop := running(t, build(t, c.opts, store), ln)
				conn := ln.dial(t)
				began := time.Now()
				fmt.Fprint(conn, "GET "+durablePath+"s?offset=now&live=long-poll HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n")
				acted := make(chan struct{})
				time.AfterFunc(5*time.Second, func() { c.act(store, stop); close(acted) })
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < c.min || took > c.most {
					t.Errorf("it took %v, want %v to %v", took, c.min, c.most)
				}
				h := resp.Header
				if resp.StatusCode != c.status || h.Get("Stream-Next-Offset") != encode.DurableOffset(c.next) || h.Get("Stream-Up-To-Date") != "true" || h.Get("Stream-Cursor") == "" {
					t.Errorf("got %d %v, want %d and offset %d", resp.StatusCode, h, c.status, c.next)
				}
				conn.Close()
				<-acted
				_ = stop()
			})
		})
	}
}
