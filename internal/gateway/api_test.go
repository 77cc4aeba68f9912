package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"streamer/internal/events"
	"streamer/internal/session"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

func itoa(n int) string { return strconv.Itoa(n) }

// TestIngest checks which bodies are stored and what is stored, with the check that
// the server uses.
func TestIngest(t *testing.T) {
	for _, c := range []struct {
		path, body string
		kind       string // stored kind, "" if refused
		stored     string // stored body, "" if unchanged
		status     int
		text       string
	}{
		{"deltas", `{"choices":[]}`, "delta", "", 202, ""},
		{"deltas", "data: {}\n\ndata: [DONE]\n\n", "delta", "", 202, ""},
		{"deltas", "{}\n{}\n", "delta", "", 202, ""},
		{"deltas", " \n", "delta", "", 202, ""},
		{"deltas", "\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb}\x98\xc8\xff", "delta", "", 202, ""},
		{"deltas", "", "", "", 400, "empty"},
		{"results", ` {"tool_call_id":"x","content":"1"}`, "result", "", 202, ""},
		{"results", `[{"type":"tool_result","tool_use_id":"x"}]`, "result", "", 202, ""},
		{"results", `[{"type":"tool_result"}]`, "", "", 400, "result 0: the result names no call"},
		{"results", `{"tool_call_id":"x","Content":"1"}`, "", "", 400, "did you mean content?"},
		{"results", `"x"`, "", "", 400, "the result is a string, not an object"},
		{"results", `{"tool_call_id":"x",}`, "", "", 400, "at byte 20"},
		{"results", ``, "", "", 400, "empty"},
		{"progress", `{"tool_call_id":"x","percent":5}`, "progress", "", 202, ""},
		{"progress", `[]`, "", "", 400, "not an object"},
		{"progress", `{"tool_call_id":"x","percent":101}`, "", "", 400, "percent is 101, not a number from 0 to 100"},
		{"progress", `{"tool_call_id":"x","percent":-0.5}`, "", "", 400, "percent is -0.5"},
		{"progress", `{"tool_call_id":"x","percent":"5"}`, "", "", 400, "percent is a string"},
		{"progress", `{"tool_call_id":"x","percent":NaN}`, "", "", 400, "not JSON"},
		{"progress", `{"percent":5}`, "", "", 400, "the progress names no call"},
		{"progress", ``, "", "", 400, "empty"},
		{"interrupt", `{"reason":"user"}`, "interrupt", "", 202, ""},
		{"interrupt", ``, "interrupt", "{}", 202, ""},
		{"interrupt", `{"reason":`, "", "", 400, "at byte 10"},
		{"interrupt", `{"call":"1.0"}`, "interrupt", "", 202, ""},
		{"interrupt", `{"tool_call_id":"x"}`, "interrupt", "", 202, ""},
		{"interrupt", `{"calls":[]}`, "", "", 400, "calls is an empty list"},
		{"interrupt", `{"calls":null}`, "", "", 400, "calls is null"},
		{"interrupt", `{"tool_call_ids":[]}`, "", "", 400, "tool_call_ids is an empty list"},
		{"interrupt", `{"run":null}`, "", "", 400, "run is null"},
		{"interrupt", `{"run_id":"x"}`, "", "", 400, "did you mean run?"},
		{"interrupt", `{"Calls":["x"]}`, "", "", 400, "did you mean calls?"},
		{"interrupt", `{"message_id":""}`, "", "", 400, "message_id is empty"},
		{"interrupt", `{"run":"a","run":"b"}`, "", "", 400, "the interrupt has run twice"},
		{"answer", `{"call":"1.0","decision":"approve"}`, "answer", "", 202, ""},
		{"answer", `{"interrupt_id":"i","decision":"edit","args":{"a":1},"by":"ann"}`, "answer", "", 202, ""},
		{"answer", `{"call":"1.0","decision":"maybe"}`, "", "", 400, "decision is \\\"maybe\\\", not one of"},
		{"answer", `{"decision":"approve"}`, "", "", 400, "the answer names no call"},
		{"answer", `{"call":"1.0","decision":"approve","args":{}}`, "", "", 400, "args and the decision edit belong together"},
		{"answer", `{"call":"1.0","decision":"edit","args":[]}`, "", "", 400, "args is an array, not an object"},
		{"answer", `{"call":"1.0","decision":"reply","value":null}`, "", "", 400, "a reply needs a value"},
		{"answer", `{"call":"1.0","decisions":"approve"}`, "", "", 400, "did you mean decision?"},
		{"answer", ``, "", "", 400, "the body is empty"},
		{"interrupt", "{\"run\":\"\xff\"}", "", "", 400, "not UTF-8"},
		{"end", ``, "end", "{}", 202, ""},
		{"resume", ``, "resume", "{}", 202, ""},
		{"resume", `{"by":1}`, "", "", 400, "by is a number"},
		{"end", `{"reason":"error"}`, "end", "", 202, ""},
		{"end", `{"reason":"failed"}`, "", "", 400, `not one of`},
		{"end", `{"run":"a"}`, "", "", 400, "did you mean reason?"},
		{"end", `null`, "", "", 400, "not an object"},
		{"end", `{"a":` + strings.Repeat("[", 20000), "", "", 400, "nested deeper than"},
		{"nothing", `{}`, "", "", 404, "not found"},
	} {
		t.Run(fmt.Sprintf("%.60s", c.path+" "+c.body), func(t *testing.T) {
			store := newMemory()
			resp, body := do(t, "POST", serve(t, Options{Check: session.Check}, store)+"/v1/sessions/a.b/"+c.path, c.body)
			if resp.StatusCode != c.status || !strings.Contains(body, c.text) {
				t.Errorf("%s %.60q: got %d %s, want %d with %q", c.path, c.body, resp.StatusCode, body, c.status, c.text)
			}
			if c.kind == "" {
				if len(store.inputs) != 0 {
					t.Errorf("%s %.60q: got %v stored, want nothing", c.path, c.body, store.inputs)
				}
				return
			}
			want := `{"session":"a.b","seq":1}` + "\n"
			if c.path == "interrupt" {
				want = `{"session":"a.b","seq":1,"accepted":true,"unknown_session":true}` + "\n"
			}
			if body != want {
				t.Errorf("%s %q: got %s, want %s", c.path, c.body, body, want)
			}
			want = c.stored
			if want == "" {
				want = c.body
			}
			if in := store.inputs[0]; in.token != "a=2Eb" || string(in.kind) != c.kind || in.data != want || !strings.HasPrefix(in.msgID, "a=2Eb:"+c.kind+":") || len(in.msgID) < 30 {
				t.Errorf("%s %q: stored %+v", c.path, c.body, in)
			}
		})
	}
}

// TestIngestHeaders checks the forwarded headers and that a repeated key is stored
// once.
func TestIngestHeaders(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/sessions/s/deltas"
	headers := []string{"Idempotency-Key: k 1", "Streamer-Format: openai.chat", "traceparent: 00-ab-cd-01", "tracestate: a=b", "Cookie: secret=1", "Nats-Msg-Id: x"}
	for range 2 { // the second request repeats the first
		resp, body := do(t, "POST", url, `{"n":1}`, headers...)
		if resp.StatusCode != 202 || !strings.Contains(body, `"seq":1`) {
			t.Fatalf("got %d %s", resp.StatusCode, body)
		}
	}
	in := store.inputs[0]
	if in.msgID != "s:delta:k 1" {
		t.Errorf("message id: got %q", in.msgID)
	}
	got, _ := json.Marshal(in.header)
	if want := `{"Streamer-Format":["openai.chat"],"traceparent":["00-ab-cd-01"],"tracestate":["a=b"]}`; string(got) != want {
		t.Errorf("forwarded headers: got %s, want %s", got, want)
	}
	for _, bad := range []string{"Idempotency-Key: " + strings.Repeat("k", 600), "Idempotency-Key: caf\u00e9", "Streamer-Format: " + strings.Repeat("f", 600)} {
		if resp, body := do(t, "POST", url, `{}`, bad); resp.StatusCode != 400 {
			t.Errorf("%.40s: got %d %s, want 400", bad, resp.StatusCode, body)
		}
	}
}

// TestInterruptAgain checks that an interrupt that is sent again with its key is
// stored once, and that both answers have its position.
func TestInterruptAgain(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{Check: session.Check}, store) + "/v1/sessions/s/interrupt"
	for range 2 {
		if _, body := do(t, "POST", url, `{"run":"17.0"}`, "Idempotency-Key: stop-17.0"); body != `{"session":"s","seq":1,"accepted":true,"unknown_session":true}`+"\n" {
			t.Errorf("got %s", body)
		}
	}
	if len(store.inputs) != 1 {
		t.Errorf("%d inputs are stored, want 1", len(store.inputs))
	}
}

// TestBodyLimit checks the size limit of inputs.
func TestBodyLimit(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{MaxBody: 1000}, store) + "/v1/sessions/s/deltas"
	if resp, body := do(t, "POST", url, strings.Repeat("x", 1000)); resp.StatusCode != 202 {
		t.Errorf("1000 bytes: got %d %s, want 202", resp.StatusCode, body)
	}
	if resp, body := do(t, "POST", url, strings.Repeat("x", 1001)); resp.StatusCode != 413 || !strings.Contains(body, "more than 1000 bytes; split it into several requests, or shorten it if it is one value") {
		t.Errorf("1001 bytes: got %d %s, want 413", resp.StatusCode, body)
	}
	// The same without a Content-Length.
	req, _ := http.NewRequest("POST", url, io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))))
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != 413 {
		t.Errorf("1001 bytes in chunks: got %v %v, want 413", resp, err)
	}
	if g := build(t, Options{}, store); g.opts.MaxBody != 1<<20-4<<10 {
		t.Errorf("MaxBody: got %d, want 1 MiB less 4 KiB", g.opts.MaxBody)
	}
}

// TestNotStored checks that the answer to a store error does not include the cause.
func TestNotStored(t *testing.T) {
	store := newMemory()
	store.breakDown()
	resp, body := do(t, "POST", serve(t, Options{}, store)+"/v1/sessions/s/end", "")
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || strings.Contains(body, "disk") {
		t.Errorf("got %d %s, want 503 without the cause", resp.StatusCode, body)
	}
}

// TestMethods checks the allowed methods of each path.
func TestMethods(t *testing.T) {
	url := serve(t, Options{}, newMemory())
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"POST", "/v1/sessions/s/events", 405, "GET, HEAD, OPTIONS"},
		{"DELETE", "/v1/sessions", 405, "GET, HEAD, OPTIONS"},
		{"GET", "/v1/sessions/s/interrupt", 405, "POST, OPTIONS"},
		{"GET", "/v1/sessions/s/deltas", 405, "POST, PUT, OPTIONS"},
		{"POST", "/v1/events", 405, "GET, HEAD, OPTIONS"},
		{"HEAD", "/v1/sessions/s/end", 405, "POST, OPTIONS"},
		{"GET", "/v1/login", 405, "POST, OPTIONS"},
		{"POST", "/healthz", 405, "GET, HEAD, OPTIONS"},
		{"OPTIONS", "/v1/sessions", 204, "GET, HEAD, OPTIONS"},
		{"GET", "/v2", 404, ""},
		{"GET", "/", 404, ""},
		{"PUT", "/", 404, ""},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			resp, body := do(t, c.method, url+c.path, "")
			if resp.StatusCode != c.status || resp.Header.Get("Allow") != c.allow {
				t.Errorf("%s %s: got %d, Allow %q, want %d, %q", c.method, c.path, resp.StatusCode, resp.Header.Get("Allow"), c.status, c.allow)
			}
			if c.status >= 400 && c.method != "HEAD" && !strings.HasPrefix(body, `{"error":"`) {
				t.Errorf("%s %s: got %q, want a JSON error", c.method, c.path, body)
			}
		})
	}
}

// TestSessions checks the list of sessions.
func TestSessions(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{}, store) + "/v1/sessions"
	if _, body := do(t, "GET", url, ""); body != "[]\n" {
		t.Errorf("no sessions: got %s, want []", body)
	}
	store.info = []SessionInfo{{"old", at, 0, "soon"}, {"new <1>", at.Add(1500 * time.Millisecond), 2, ""}}
	want := `[{"session":"new \u003c1\u003e","last":"2026-03-02T10:00:01.500Z","open":2},{"session":"old","last":"2026-03-02T10:00:00.000Z","open":0,"about":"soon"}]` + "\n"
	if _, body := do(t, "GET", url, ""); body != want {
		t.Errorf("got %s, want %s", body, want)
	}
	if _, body := do(t, "GET", url+"?limit=1", ""); strings.Count(body, "session") != 1 {
		t.Errorf("limit=1: got %s", body)
	}
	for _, bad := range []string{"0", "-1", "x", "1001"} {
		t.Run(bad, func(t *testing.T) {
			if resp, body := do(t, "GET", url+"?limit="+bad, ""); resp.StatusCode != 400 {
				t.Errorf("limit=%s: got %d %s, want 400", bad, resp.StatusCode, body)
			}
		})
	}
}

// TestEventParts checks the addresses of an event and its values.
func TestEventParts(t *testing.T) {
	store := newMemory()
	large := `"` + strings.Repeat("long ", 40_000) + `"`
	blob := events.NewBlob([]byte(large))
	ref, _ := json.Marshal(blob.Ref)
	store.blobs[blob.Ref.SHA256] = blob.Data
	gone, _ := json.Marshal(events.NewBlob([]byte("gone")).Ref)
	store.add("s", events.ToolCallArgsComplete, `{"args_text":"{\"a\": 1}"}`)
	store.add("s", events.ToolCallResult, `{"tool_result":{"b":2}}`)
	store.add("s", events.ToolCallResult, `{"tool_result_ref":`+string(ref)+`}`)
	store.add("s", events.ToolCallArgsComplete, `{"args_ref":`+string(gone)+`}`)
	store.add("s", events.Synthetic, `[1]`)
	base := serve(t, Options{}, store) + "/v1/sessions/"
	for _, c := range []struct {
		path        string
		status      int
		contentType string
		body        string
	}{
		{"s/events/1", 200, "application/json", `{"args_text":"{\"a\": 1}"}`},
		{"s/events/1/args", 200, "text/plain; charset=utf-8", `{"a": 1}`},
		{"s/events/1/result", 404, "application/json", ""},
		{"s/events/2/result", 200, "application/json", `{"b":2}`},
		{"s/events/3/result", 200, "application/json", large},
		{"s/events/4/args", 410, "application/json", ""},
		{"s/events/5/args", 404, "application/json", ""},
		{"s/events/1/secrets", 404, "application/json", ""},
		{"s/events/9/args", 404, "application/json", ""},
		{"t/events/1/args", 404, "application/json", ""}, // another session's event
		{"s/events/0/args", 400, "application/json", ""},
		{"s/events/x/args", 400, "application/json", ""},
	} {
		t.Run(c.path, func(t *testing.T) {
			resp, body := do(t, "GET", base+c.path, "")
			if resp.StatusCode != c.status || resp.Header.Get("Content-Type") != c.contentType || c.body != "" && body != c.body {
				t.Errorf("%s: got %d %s %.80s, want %d %s %.80s", c.path, resp.StatusCode, resp.Header.Get("Content-Type"), body, c.status, c.contentType, c.body)
			}
			if c.status == 200 {
				if resp, _ := do(t, "GET", base+c.path, "", "If-None-Match: "+resp.Header.Get("ETag")); resp.StatusCode != 304 {
					t.Errorf("%s again: got %d, want 304", c.path, resp.StatusCode)
				}
			}
		})
	}
	if resp, body := do(t, "GET", base+"s/events/3/result", "", "Range: bytes=1-9"); resp.StatusCode != 206 || body != "long long" {
		t.Errorf("range: got %d %q, want 206", resp.StatusCode, body)
	}
}

// TestHealth checks the answers to probes.
func TestHealth(t *testing.T) {
	store := newMemory()
	var warnings atomic.Pointer[[]string]
	warnings.Store(new([]string))
	url := serve(t, Options{Exposed: true, Token: "0123456789abcdef", Warnings: func() []string { return *warnings.Load() }}, store)
	probe := func(path string) (int, string) {
		resp, body := do(t, "GET", url+path, "", "Host: 10.1.2.3.nip.io")
		return resp.StatusCode, body
	}
	if status, body := probe("/readyz"); status != 200 || body != `{"status":"ready"}`+"\n" {
		t.Errorf("readyz: got %d %s, want 200", status, body)
	}
	warnings.Store(&[]string{"the clock is off"})
	if status, body := probe("/readyz"); status != 200 || body != `{"status":"ready","warnings":["the clock is off"]}`+"\n" {
		t.Errorf("readyz with a warning: got %d %s, want 200 and the warning", status, body)
	}
	store.breakDown()
	if status, body := probe("/readyz"); status != 503 || body != `{"error":"the disk is full"}`+"\n" {
		t.Errorf("readyz of a broken store: got %d %s, want 503 with the reason", status, body)
	}
	if status, body := probe("/healthz"); status != 200 {
		t.Errorf("healthz: got %d %s, want 200", status, body)
	}
}

// TestPageCompressed checks which form of a file of the page a client gets, and that
// each form has its own ETag.
func TestPageCompressed(t *testing.T) {
	long := strings.Repeat("a(1); // one\n", 100)
	page := fstest.MapFS{"app.js.gz": {Data: zipped(t, long)}, "app.js.br": {Data: []byte("as br")}, "tiny.js": {Data: []byte("1")}}
	g, err := New(Options{}, newMemory(), page, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	url := serveHandler(t, g)
	etags := map[string]string{}
	for _, c := range []struct{ path, accept, want string }{
		{"/app.js", "gzip", "gzip"},
		{"/app.js", "deflate, br, gzip", "br"},
		{"/app.js", "deflate, gzip", "gzip"},
		{"/app.js", "br;q=0, GZIP;q=0.5", "gzip"},
		{"/app.js", "deflate", ""},
		{"/app.js", "identity", ""},
		{"/app.js", "gzip;q=0", ""},
		{"/app.js", "zstd, gzip; q=0.000", ""},
		{"/tiny.js", "gzip", ""},
	} {
		t.Run(c.path+" "+c.accept, func(t *testing.T) {
			resp, body := do(t, "GET", url+c.path, "", "Accept-Encoding: "+c.accept)
			got := resp.Header.Get("Content-Encoding")
			if resp.StatusCode != 200 || got != c.want {
				t.Errorf("%s for %q: got %d %q, want %q", c.path, c.accept, resp.StatusCode, got, c.want)
			}
			if got == "br" && body != "as br" {
				t.Errorf("%s for %q: got %q", c.path, c.accept, body)
			}
			if got == "gzip" {
				if data := unzipped(t, body); data != long || len(body) > len(long)/5 {
					t.Errorf("%s for %q: %d bytes are %q", c.path, c.accept, len(body), data)
				}
			} else if got == "" && c.path == "/app.js" && body != long {
				t.Errorf("%s for %q: got %q", c.path, c.accept, body)
			}
			if vary := strings.Join(resp.Header.Values("Vary"), ","); strings.Contains(vary, "Accept-Encoding") != (c.path == "/app.js") {
				t.Errorf("%s for %q: got Vary %q", c.path, c.accept, vary)
			}
			etag := resp.Header.Get("ETag")
			if known, ok := etags[c.path+got]; ok && known != etag {
				t.Errorf("%s for %q: got ETag %s, want %s", c.path, c.accept, etag, known)
			}
			etags[c.path+got] = etag
			if resp, _ := do(t, "GET", url+c.path, "", "Accept-Encoding: "+c.accept, "If-None-Match: "+etag); resp.StatusCode != 304 {
				t.Errorf("%s for %q again: got %d, want 304", c.path, c.accept, resp.StatusCode)
			}
		})
	}
	if plain, gzip := etags["/app.js"], etags["/app.jsgzip"]; plain == gzip {
		t.Errorf("both forms have the ETag %s, want different ones", plain)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unzipped returns the content of a compressed body.
func unzipped(t *testing.T, body string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPage checks that only files of the page are served, with their headers.
func TestPage(t *testing.T) {
	page := fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>")},
		"app.js":     {Data: []byte("1")},
		"sub/a.css":  {Data: []byte("a{}")},
	}
	g, err := New(Options{Exposed: true, Token: "0123456789abcdef"}, newMemory(), page, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	url := serveHandler(t, g)
	for path, want := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8",
		"/app.js": "text/javascript; charset=utf-8", "/sub/a.css": "text/css; charset=utf-8",
	} {
		t.Run(path, func(t *testing.T) {
			resp, _ := do(t, "GET", url+path, "")
			h := resp.Header
			if resp.StatusCode != 200 || h.Get("Content-Type") != want {
				t.Errorf("%s: got %d %q, want %q", path, resp.StatusCode, h.Get("Content-Type"), want)
			}
			for name, want := range map[string]string{
				"Content-Security-Policy": pagePolicy, "X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer", "Cache-Control": "no-cache",
				"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			} {
				if got := h.Get(name); got != want {
					t.Errorf("%s: %s: got %q, want %q", path, name, got, want)
				}
			}
			if resp, _ := do(t, "GET", url+path, "", "If-None-Match: "+h.Get("ETag")); resp.StatusCode != 304 {
				t.Errorf("%s again: got %d, want 304", path, resp.StatusCode)
			}
		})
	}
	for _, path := range []string{"/sub/", "/sub", "/nothing", "/%2e%2e/go.mod", "/app.js/"} {
		t.Run(path, func(t *testing.T) {
			if resp, body := do(t, "GET", url+path, ""); resp.StatusCode != 404 {
				t.Errorf("%s: got %d %s, want 404", path, resp.StatusCode, body)
			}
		})
	}
	if resp, body := do(t, "POST", url+"/", ""); resp.StatusCode != 405 {
		t.Errorf("POST /: got %d %s, want 405", resp.StatusCode, body)
	}
}

// TestEndsWithin: the answer says that deltas end within a JSON value, and that a
// session to interrupt has no events.
func TestEndsWithin(t *testing.T) {
	for body, want := range map[string]bool{
		`{"a":1}`: false, `{"a":`: true, `[{"a":1},`: true, " \n{": true, `{"a":1} {"b"`: true, "{\"a\":1}\n{\"b\":2}\n": false,
		"data: {": false, `{"a":]`: false, "text": false, "\x00\x00": false, `{"a":"\`: true,
	} {
		t.Run(body, func(t *testing.T) {
			url := serve(t, Options{}, newMemory()) + "/v1/sessions/s/deltas"
			_, answer := do(t, "POST", url, body)
			if got := gjson.Get(answer, "incomplete").Bool(); got != want {
				t.Errorf("got %s, want incomplete: %t", answer, want)
			}
		})
	}
	store := newMemory()
	store.add("s", events.ToolCallStart, `{}`)
	if _, answer := do(t, "POST", serve(t, Options{}, store)+"/v1/sessions/s/interrupt", ""); gjson.Get(answer, "unknown_session").Exists() {
		t.Errorf("a session with events: got %s", answer)
	}
}
