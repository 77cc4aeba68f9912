package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/test/testkit"

	"github.com/rs/zerolog"
)

// TestStreamBytes checks the bytes of a whole response, from the headers to the
// last frame of a server that stops, with heartbeats after 15 s without data.
func TestStreamBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		stop := running(t, build(t, Options{}, store), ln)
		store.add("a b", events.ToolCallStart, `{"type":"tool_call_start","id":"x"}`)
		store.add("other", events.ToolCallStart, `{}`)
		store.add("a b", events.Synthetic, `{"role":"tool"}`)
		conn := ln.dial(t)
		var got bytes.Buffer
		read := make(chan error)
		go func() { _, err := io.Copy(&got, conn); read <- err }()
		io.WriteString(conn, "GET /v1/sessions/a%20b/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
		time.Sleep(14 * time.Second)
		store.add("a b", events.ToolCallResult, `{"type":"tool_call_result"}`)
		time.Sleep(31 * time.Second) // two heartbeats, counted from the event
		if err := stop(); err != nil {
			t.Fatalf("Run: %v", err)
		}
		<-read
		text := regexp.MustCompile(`retry: [2-4]\d\d\d\n`).ReplaceAllString(got.String(), "retry: JITTER\n")
		testkit.Golden(t, "testdata/stream.http", strings.ReplaceAll(text, "\r\n", "\n"))
	})
}

// TestHistoryThenLive checks that a stream has the stored events first, and then
// only its session's new events.
func TestHistoryThenLive(t *testing.T) {
	store := newMemory()
	store.some("s", 2)
	url := serve(t, Options{}, store) + "/v1/sessions/s/events"
	f := openStream(t, url)
	f.want("stream.open", "1 tool_call_args_delta", "2 tool_call_args_delta", "stream.live")
	store.add("t", events.ToolCallStart, `{}`)
	store.add("s", events.ToolCallStart, `{}`)
	f.want("4 tool_call_start")
}

// TestUnknownSession checks that a stream waits for the first event of a session.
func TestUnknownSession(t *testing.T) {
	store := newMemory()
	f := openStream(t, serve(t, Options{}, store)+"/v1/sessions/%E4%BD%A0%2F%20/events")
	f.want("stream.open", "stream.live")
	store.add("你/ ", events.RunStarted, `{}`)
	f.want("1 run_started")
}

// TestResume checks the event after each cursor.
func TestResume(t *testing.T) {
	store := newMemory()
	store.some("s", 5)
	url := serve(t, Options{}, store) + "/v1/sessions/s/events"
	for _, c := range []struct {
		query, header, first string
	}{
		{"", "", "1 tool_call_args_delta"},
		{"?last_event_id=2", "", "3 tool_call_args_delta"},
		{"", "Last-Event-ID: 3", "4 tool_call_args_delta"},
		{"?last_event_id=1", "Last-Event-ID: 4", "5 tool_call_args_delta"}, // a browser's reconnect
		{"?last_event_id=5", "", "stream.live"},
		{"?last_event_id=0", "", "1 tool_call_args_delta"},
	} {
		t.Run(c.query+" "+c.header, func(t *testing.T) {
			headers := []string{}
			if c.header != "" {
				headers = append(headers, c.header)
			}
			f := openStream(t, url+c.query, headers...)
			f.want("stream.open")
			if got := f.next(); got != c.first {
				t.Errorf("%q %q: got %q, want %q", c.query, c.header, got, c.first)
			}
		})
	}
}

// TestResumeLosesNothing checks that a client that reconnects often sees each event
// once and in order.
func TestResumeLosesNothing(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/sessions/s/events"
	go func() {
		for range 100 {
			store.some("s", 10)
		}
	}()
	last, seen := "0", 0
	for seen < 1000 {
		f := openStream(t, url, "Last-Event-ID: "+last)
		for range 37 {
			id, _, isEvent := strings.Cut(f.next(), " ")
			if !isEvent {
				continue
			}
			if seen++; id != itoa(seen) {
				t.Fatalf("after %s: got event %s, want %d", last, id, seen)
			}
			if last = id; seen == 1000 {
				break
			}
		}
	}
}

// TestRefusedStreams checks the errors for invalid requests and outdated cursors.
func TestRefusedStreams(t *testing.T) {
	store := newMemory()
	store.some("s", 10)
	store.forget(6)
	base := serve(t, Options{}, store) + "/v1/sessions/"
	for _, c := range []struct {
		path   string
		status int
		text   string
	}{
		{"s/events?last_event_id=3", 410, "the log begins at 6"},
		{"s/events?last_event_id=4", 410, "the log begins at 6"},
		{"s/events?last_event_id=11", 400, "the log ends at 10"},
		{"s/events?last_event_id=x1", 400, `the cursor "x1" is not the id of an event`},
		{"s/events?last_event_id=-1", 400, "is not the id"},
		{"s/events?last_event_id=99999999999999999999", 400, "is not the id"},
		{"s/events?protocol=nope", 400, "the protocols are native"},
		{"s/events?types=" + strings.Repeat("a,", 40), 400, "more than 32"},
		{"s/events?types=tool_call_results", 400, `types has "tool_call_results", which is not an event type; the types are run_started, `},
		{"s/events?types=synthetic,Rejected", 400, `types has "Rejected"`},
		{"s/events?types=rejected,,unmatched", 400, `types has ""`},
		{"s/events?types=stream.open", 400, "not an event type"},
		{strings.Repeat("s", 257) + "/events", 400, "longer than 256"},
		{strings.Repeat("%20", 100) + "/events", 400, "longer than 256"},
		{"%ff/events", 400, "not UTF-8"},
		{"s/event", 404, "not found: /v1/sessions/s/event"},
	} {
		t.Run(fmt.Sprintf("%.60s", c.path+" "+c.text), func(t *testing.T) {
			resp, body := do(t, "GET", base+c.path, "")
			var answer struct{ Error string }
			err := json.Unmarshal([]byte(body), &answer)
			if resp.StatusCode != c.status || err != nil || !strings.Contains(answer.Error, c.text) {
				t.Errorf("%s: got %d %s, want %d with %q", c.path, resp.StatusCode, body, c.status, c.text)
			}
			if first := resp.Header.Get("Streamer-First-Seq"); (first == "6") != (c.status == 410) {
				t.Errorf("%s: Streamer-First-Seq: got %q", c.path, first)
			}
		})
	}
	// The oldest valid cursor, and no cursor, are accepted.
	openStream(t, base+"s/events?last_event_id=5").want("stream.open", "6 tool_call_args_delta")
	openStream(t, base+"s/events").want("stream.open", "6 tool_call_args_delta")
}

// TestTypes checks that a stream can be limited to event types.
func TestTypes(t *testing.T) {
	store := newMemory()
	store.add("s", events.ToolCallStart, `{}`)
	store.add("s", events.ToolCallArgsDelta, `{}`)
	store.add("s", events.ToolCallResult, `{}`)
	store.add("s", events.Synthetic, `{}`)
	f := openStream(t, serve(t, Options{}, store)+"/v1/sessions/s/events?types=tool_call_result,synthetic")
	f.want("stream.open", "3 tool_call_result", "4 synthetic", "stream.live")
}

// TestStreamHead checks the answer to HEAD.
func TestStreamHead(t *testing.T) {
	resp, body := do(t, "HEAD", serve(t, Options{}, newMemory())+"/v1/sessions/s/events", "")
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" || body != "" {
		t.Errorf("HEAD: got %d %q %q", resp.StatusCode, got, body)
	}
}

// TestTooManyStreams checks the limit of open streams.
func TestTooManyStreams(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{MaxClients: 2}, store) + "/v1/sessions/s/events"
	one := start(t, "GET", url, "")
	openStream(t, url).want("stream.open")
	resp, body := do(t, "GET", url, "")
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "2 streams are open") {
		t.Errorf("third stream: got %d %s, want 503 with Retry-After", resp.StatusCode, body)
	}
	one.Body.Close()
	for start(t, "GET", url, "").StatusCode != 200 { // until the server detects the closed stream
	}
}

// TestBrokenLog checks the end of a stream whose log cannot be read, and the answer
// to a new one.
func TestBrokenLog(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/sessions/s/events"
	f := openStream(t, url)
	f.want("stream.open", "stream.live")
	store.breakDown()
	f.want("stream.end")
	if _, err := f.r.ReadByte(); err != io.EOF {
		t.Errorf("after stream.end: got %v, want EOF", err)
	}
	resp, body := do(t, "GET", url, "")
	if resp.StatusCode != 503 || strings.Contains(body, "disk") {
		t.Errorf("got %d %s, want 503 without the cause", resp.StatusCode, body)
	}
}

// TestOutageLog checks that many failed requests during an outage cause one log
// message per interval, and that other errors are always logged.
func TestOutageLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g, err := New(Options{}, newMemory(), nil, zerolog.New(&log))
		if err != nil {
			t.Fatal(err)
		}
		fail := func(times int, err error) {
			for range times {
				w := httptest.NewRecorder()
				g.fail(w, httptest.NewRequest("GET", "/v1/sessions/s/events", nil), err)
				if w.Code != 503 {
					t.Errorf("%v: got status %d, want 503", err, w.Code)
				}
			}
		}
		for range 3 {
			fail(100, fmt.Errorf("bounds: %w", context.DeadlineExceeded))
			time.Sleep(outageLogInterval) // of the bubble's time
		}
		fail(2, errors.New("something else"))
		if got := strings.Count(log.String(), "\n"); got != 5 {
			t.Errorf("got %d lines, want 3 and 2: %s", got, log.String())
		}
	})
}

// TestSlowClient checks that a client that does not read is disconnected after the
// write timeout, and that another client of the session is not delayed.
func TestSlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		var log bytes.Buffer
		g, err := New(Options{}, store, nil, zerolog.New(&log).Level(zerolog.WarnLevel))
		if err != nil {
			t.Fatal(err)
		}
		stop := running(t, g, ln)
		ask := func() net.Conn {
			conn := ln.dial(t)
			io.WriteString(conn, "GET /v1/sessions/s/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
			return conn
		}
		slow, quick := ask(), ask()
		read := make(chan int)
		go func() {
			b, _ := io.ReadAll(quick)
			read <- bytes.Count(b, []byte("\nid: "))
		}()
		buf := make([]byte, 1<<10)
		slow.Read(buf) // one read only
		synctest.Wait()
		began := time.Now()
		store.some("s", 1000)
		for open(g) == 2 {
			time.Sleep(time.Second / 10)
		}
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("the slow client was cut off after %v, want 10 s", took)
		}
		if err := stop(); err != nil {
			t.Fatalf("Run: %v", err)
		}
		if got := <-read; got != 1000 {
			t.Errorf("the quick client: got %d events, want 1000", got)
		}
		if n := strings.Count(log.String(), `"session":"s"`); n != 1 || !strings.Contains(log.String(), "slow client disconnected") {
			t.Errorf("log: got %s, want one line about a slow client", &log)
		}
		slow.Close()
	})
}

// open returns the number of open streams.
func open(g *Gateway) int {
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	return len(g.streams.open)
}

// TestDisconnectIsNoStop: a client that closes its stream, in any protocol, stores
// nothing.
func TestDisconnectIsNoStop(t *testing.T) {
	store := newMemory()
	s := &folded{t: t, store: store}
	s.add(inputs.Delta, `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`)
	g := build(t, Options{}, store)
	url := serveHandler(t, g)
	for _, c := range [][3]string{
		{"GET", "/v1/sessions/s/events", ""},
		{"GET", "/v1/events?session=s", ""},
		{"GET", "/v1/ai-sdk/s/stream", ""},
		{"GET", "/v1/ag-ui/s", ""},
		{"POST", "/v1/ag-ui/s", "{}"},
		{"GET", "/v1/langgraph/threads/s/runs/1.0/stream?cancel_on_disconnect=1", ""},
		{"POST", "/v1/langgraph/threads/s/stream/events", `{"channels":["messages"]}`},
	} {
		resp := start(t, c[0], url+c[1], c[2])
		if resp.StatusCode != 200 || open(g) != 1 {
			t.Fatalf("%s %s: got %d, %d streams are open", c[0], c[1], resp.StatusCode, open(g))
		}
		resp.Body.Close()
		testkit.UntilTrue(t, "the stream ends", func() bool { return open(g) == 0 })
	}
	if n := len(store.stored()); n > 0 {
		t.Errorf("%d inputs are stored, want none", n)
	}
}

// TestShutdown checks that streams end at different times within half of the grace
// period, each with a last frame, and that no goroutine remains when Run returns
// (the bubble would not end).
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		store.some("s", 3)
		g := build(t, Options{Grace: 10 * time.Second}, store)
		stop := running(t, g, ln)
		const n = 20
		ended := make(chan time.Duration, n)
		var began time.Time
		for range n {
			conn := ln.dial(t)
			go func() {
				b, _ := io.ReadAll(conn)
				if !bytes.HasSuffix(b, []byte("event: stream.end\ndata: {\"reason\":\"shutdown\"}\n\n")) {
					t.Errorf("end of stream: got %q", b)
				}
				ended <- time.Since(began)
			}()
			io.WriteString(conn, "GET /v1/sessions/s/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
		}
		synctest.Wait()
		began = time.Now()
		if err := stop(); err != nil {
			t.Fatalf("Run: %v", err)
		}
		first, last := time.Hour, time.Duration(0)
		for range n {
			d := <-ended
			first, last = min(first, d), max(last, d)
		}
		if first == last || last > 6*time.Second {
			t.Errorf("streams ended from %v to %v, want them spread over 5 s", first, last)
		}
	})
}

// TestShutdownWithStuckClient checks that a client that does not read its last
// frame delays shutdown by at most the grace period.
func TestShutdownWithStuckClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		g := build(t, Options{WriteTimeout: time.Hour}, store)
		stop := running(t, g, ln)
		conn := ln.dial(t)
		io.WriteString(conn, "GET /v1/sessions/s/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil {
			t.Fatalf("Run: %v", err)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("Run took %v to stop, want 5 s", took)
		}
	})
}

// TestRunOnClosedListener checks that Run returns the error of serving.
func TestRunOnClosedListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := build(t, Options{}, newMemory()).Run(t.Context(), ln); err == nil || !strings.HasPrefix(err.Error(), "gateway: serve 127.0.0.1:") {
		t.Errorf("Run: got %v, want the error of serving", err)
	}
}

// TestSlowHead checks that a client that sends its headers too slowly is
// disconnected.
func TestSlowHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipes()
		stop := running(t, build(t, Options{}, newMemory()), ln)
		conn := ln.dial(t)
		began := time.Now()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: local")
		io.Copy(io.Discard, conn)
		if took := time.Since(began); took < 14*time.Second || took > 16*time.Second {
			t.Errorf("cut off after %v, want 15 s", took)
		}
		stop()
	})
}
