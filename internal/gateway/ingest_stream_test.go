package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"streamer/internal/events"
	"streamer/internal/session"
	"streamer/test/testkit"
)

// trial is the check of strict requests that the server uses.
func trial() func(string, []byte) *events.Event { return new(session.Trial).Delta }

// send sends a body without a length, and returns the status and the answer.
func send(t *testing.T, method, url, body string, headers ...string) (int, ingestAnswer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var a ingestAnswer
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, a
}

// stored returns the bodies of the stored inputs.
func (m *memory) stored() (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, in := range m.inputs {
		list = append(list, in.data)
	}
	return list
}

// TestIngestStream checks the inputs of bodies without a length, and the answers.
func TestIngestStream(t *testing.T) {
	const chunk = `{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}`
	for _, c := range []struct {
		name, path, body string
		stored           []string
		status           int
		answer           string // JSON
	}{
		{
			"sse", "deltas", "data: 1\n\nevent: x\ndata: 2\n\ndata: 3",
			[]string{"data: 1\n\n", "event: x\ndata: 2\n\n", "data: 3\n\n"},
			202,
			`{"session":"s","seq":3,"inputs":3,"refused":0,"rejected":0,"complete":true}`,
		},
		{
			"lines", "deltas", "{\"a\":1}\n{\"bad\":1}\n\n{\"bad\":2}\n",
			[]string{"{\"a\":1}\n", "{\"bad\":1}\n", "{\"bad\":2}\n"},
			202,
			`{"session":"s","seq":3,"inputs":3,"refused":0,"rejected":2,"rejections":[{"code":"bad_shape","text":"it is bad","line":2,"last_line":4,"offset":3,"count":2}],"complete":true}`,
		},
		{
			"binary", "deltas", "\x00\x00\x01\n",
			[]string{"\x00\x00\x01\n"},
			202,
			`{"session":"s","seq":1,"inputs":1,"refused":0,"rejected":0,"complete":true}`,
		},
		{
			"empty", "deltas", "\n\n", nil, 400,
			`{"session":"s","inputs":0,"refused":0,"rejected":0,"complete":true,"error":"the body is empty"}`,
		},
		{"strict", "deltas?strict", chunk + "\n{\"what\":1}\n" + chunk + "\n", []string{chunk + "\n"}, 400, ""},
		{
			"results", "results", "{\"tool_call_id\":\"x\",\n\"content\":\"1\"} {\"content\":1}\n[{\"tool_call_id\":\"y\",\"content\":\"1\"}]",
			[]string{"{\"tool_call_id\":\"x\",\n\"content\":\"1\"}", "[{\"tool_call_id\":\"y\",\"content\":\"1\"}]"},
			202,
			`{"session":"s","seq":2,"inputs":2,"refused":1,"rejected":0,"rejections":[{"code":"bad_shape","text":"the result names no call: tool_call_id is missing or empty","line":2,"last_line":2,"offset":0,"count":1}],"complete":true}`,
		},
		{
			"strict results", "results?strict", "{\"tool_call_id\":\"x\",\"content\":\"1\"}\n{}\n{\"tool_call_id\":\"y\",\"content\":\"1\"}\n",
			[]string{`{"tool_call_id":"x","content":"1"}`},
			400, "",
		},
		{"not JSON", "progress", `{"tool_call_id":"x"} {"tool`, []string{`{"tool_call_id":"x"}`}, 400, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemory()
			url := serve(t, Options{Check: session.Check, Trial: trial}, store) + "/v1/sessions/s/" + c.path
			status, a := send(t, "PUT", url, c.body)
			if got := store.stored(); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.stored) {
				t.Errorf("%s: stored %q, want %q", c.name, got, c.stored)
			}
			got, _ := json.Marshal(a)
			if status != c.status || c.answer != "" && string(got) != c.answer || c.answer == "" && a.Error == "" {
				t.Errorf("%s: got %d %s, want %d %s", c.name, status, got, c.status, c.answer)
			}
		})
	}
}

// TestIngestAsItArrives checks that each input is stored when it is complete, and
// not at the end of the body.
func TestIngestAsItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, ln := newMemory(), newPipes()
		stop := running(t, build(t, Options{}, store), ln)
		defer stop()
		conn := ln.dial(t)
		write := func(text string) {
			t.Helper()
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		write("POST /v1/sessions/s/deltas HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
		for i, text := range []string{"data: a\n\n", "data: ", "b\n", "\n"} {
			time.Sleep(time.Minute) // longer than every other timeout of a request
			write(fmt.Sprintf("%x\r\n%s\r\n", len(text), text))
			if got, want := len(store.stored()), []int{1, 1, 1, 2}[i]; got != want {
				t.Errorf("after %q: %d inputs are stored, want %d", text, got, want)
			}
		}
		write("0\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != 202 {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// TestIngestEnds checks what is stored of a body that does not end: the client
// disconnects, sends nothing for too long, or the server stops.
func TestIngestEnds(t *testing.T) {
	opts := withTokens(t)
	for name, end := range map[string]struct {
		do     func(disconnect, stop func())
		status int
	}{
		"disconnected": {func(disconnect, _ func()) { disconnect() }, 0},
		"silent":       {func(func(), func()) { time.Sleep(11 * time.Minute) }, 408},
		"shutdown":     {func(_, stop func()) { stop() }, 503},
		"expired":      {func(func(), func()) {}, 401}, // the token
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, ln := newMemory(), newPipes()
				stop := running(t, build(t, opts, store), ln)
				conn := ln.dial(t)
				lifetime := time.Hour
				if name == "expired" {
					lifetime = time.Minute
				}
				header := "Authorization: Bearer " + signedToken(t, "alice", everything, lifetime)
				answer := make(chan int, 1)
				go func() {
					resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
					if err != nil {
						answer <- 0
						return
					}
					answer <- resp.StatusCode
				}()
				io.WriteString(conn, "POST /v1/sessions/s/deltas HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"a\":1}\n{\"half\":\r\n")
				synctest.Wait()
				end.do(func() { conn.Close() }, func() { stop() })
				if got := <-answer; got != end.status {
					t.Errorf("got status %d, want %d", got, end.status)
				}
				if err := stop(); err != nil {
					t.Error(err)
				}
				if got := store.stored(); len(got) != 1 || got[0] != "{\"a\":1}\n" {
					t.Errorf("stored %q, want the complete line only", got)
				}
			})
		})
	}
}

// TestIngestStreamKey checks that a body that is sent again with its key is stored
// once.
func TestIngestStreamKey(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/sessions/s/deltas"
	for range 2 {
		if status, a := send(t, "POST", url, "{\"a\":1}\n{\"a\":1}\n", "Idempotency-Key: k"); status != 202 || a.Inputs != 2 || a.Seq != 2 {
			t.Errorf("got %d %+v", status, a)
		}
	}
	if got := len(store.stored()); got != 2 {
		t.Errorf("%d inputs are stored, want 2", got)
	}
	if status, a := send(t, "POST", url, "\x00\x00", "Idempotency-Key: k"); status != 400 || !strings.Contains(a.Error, "binary") {
		t.Errorf("a binary body with a key: got %d %+v", status, a)
	}
}

// TestIngestLimits checks the limits of the size of an input and of the number of
// bodies.
func TestIngestLimits(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{MaxBody: 1000, MaxIngests: 1}, store) + "/v1/sessions/s/"
	for _, body := range []string{"{}\n" + strings.Repeat("x", 200_000) + "\n", "{}\n" + strings.Repeat("x", 1001)} {
		if status, a := send(t, "POST", url+"deltas", body); status != 413 || a.Inputs != 1 {
			t.Errorf("a line of %d bytes: got %d %+v, want 413 after 1 input", len(body), status, a)
		}
	}
	if status, a := send(t, "POST", url+"results", `{} {"a":"`+strings.Repeat("x", 200_000)+`"}`); status != 413 || a.Inputs != 1 {
		t.Errorf("a large value: got %d %+v, want 413 after 1 input", status, a)
	}
	in, out := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"deltas", in)
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		first <- err
	}()
	before := len(store.stored())
	io.WriteString(out, "{\"first\":1}\n")
	testkit.UntilTrue(t, "the first input is stored", func() bool { return len(store.stored()) > before })
	if status, a := send(t, "POST", url+"deltas", "{}\n"); status != 503 || !strings.Contains(a.Error, "maximum") {
		t.Errorf("a second body: got %d %+v, want 503", status, a)
	}
	out.Close()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

// TestStrictOne checks ?strict with a body of known length.
func TestStrictOne(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{Trial: trial}, store) + "/v1/sessions/s/deltas?strict"
	for body, want := range map[string]int{`{"choices":[{"index":0,"delta":{"content":"a"}}]}`: 202, `{"choices":`: 202, `{"what":1}`: 400, "data: oops": 400} {
		t.Run(body, func(t *testing.T) {
			if resp, text := do(t, "POST", url, body); resp.StatusCode != want {
				t.Errorf("%s: got %d %s, want %d", body, resp.StatusCode, text, want)
			}
		})
	}
}
