package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"streamer/docs"
	"streamer/internal/auth"
	"streamer/internal/encode"
	"streamer/internal/events"
	"streamer/internal/gateway/agui"
	"streamer/internal/gateway/langgraph"
	"streamer/internal/inputs"
	"streamer/internal/repair"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// TestOpenAPI checks that docs/openapi.json has exactly the paths and methods of the
// routes, and that it is served.
func TestOpenAPI(t *testing.T) {
	c := contractOf(t)
	g := build(t, Options{Repairs: &repair.Service{}}, newMemory())
	var served, described []string
	for _, r := range g.routeList(prometheus.NewRegistry()) {
		for method := range strings.SplitSeq(r.methods, ", ") {
			served = append(served, method+" "+r.path)
			if r.path == "/" {
				served = append(served, method+" /{file}")
			}
		}
	}
	for path, item := range c.Paths {
		for method := range item.operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(described)
	if !slices.Equal(served, described) {
		t.Errorf("paths and methods:\n served    %q\n described %q", served, described)
	}
	url := serve(t, Options{Token: "0123456789abcdef"}, newMemory()) + "/v1/"
	for name, want := range map[string][]byte{"openapi.json": docs.OpenAPI, "events.schema.json": docs.EventSchema} {
		if resp, got := do(t, "GET", url+name, ""); resp.StatusCode != 200 || got != string(want) {
			t.Errorf("%s without a token: got %d and %d bytes, want %d", name, resp.StatusCode, len(got), len(want))
		}
	}
}

// TestDescribedWords checks that the description has the protocols and reasons that
// exist.
func TestDescribedWords(t *testing.T) {
	c := contractOf(t)
	var described struct {
		Paths map[string]struct {
			Get struct {
				Parameters []struct {
					Name   string
					Schema struct{ Enum []string }
				}
			}
		}
	}
	if err := json.Unmarshal(docs.OpenAPI, &described); err != nil {
		t.Fatal(err)
	}
	words := func(path, name string) (list []string) {
		for _, p := range described.Paths[path].Get.Parameters {
			if p.Name == name {
				list = p.Schema.Enum
			}
		}
		return list
	}
	got := words("/v1/sessions/{session}/messages", "format")
	if _, err := encode.FindHistory("?"); !strings.Contains(err.Error(), "the formats are "+strings.Join(got, ", ")) {
		t.Errorf("formats: described %q, but %v", got, err)
	}
	got = words("/v1/sessions/{session}/events", "protocol")
	if _, err := encode.Find("?"); !strings.Contains(err.Error(), "the protocols are "+strings.Join(got, ", ")) {
		t.Errorf("protocols: described %q, but %v", got, err)
	}
	got = c.Components.Schemas["StreamEnd"].Properties["reason"].Enum
	if want := []string{string(encode.Shutdown), string(encode.Rotation), string(encode.Unavailable), string(encode.Expired)}; !slices.Equal(got, want) {
		t.Errorf("reasons of stream.end: got %q, want %q", got, want)
	}
}

// answers collects the described answers that occurred.
type answers struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[string]bool
}

// add adds an answer.
func (a *answers) add(answer string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen[answer] = true
}

// server serves a gateway with a page until stop is called.
func (a *answers) server(opts Options, store Store) (url string, stop func()) {
	page := fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "app.js": {Data: []byte("1")}}
	g, err := New(opts, store, page, zerolog.Nop())
	if err != nil {
		a.t.Fatal(err)
	}
	return validated(a.t, g, a.add)
}

// request sends a request with headers "Name: value", of which several may have one
// name, and closes the body of the answer.
func (a *answers) request(method, url string, body io.Reader, headers ...string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, url, err)
	}
	resp.Body.Close()
}

// fillPath returns a described path with values that exist in the session s.
func fillPath(path string) string {
	return strings.NewReplacer("{session}", "s", "{seq}", "1", "{part}", "args", "{run}", "1.0", "{file}", "app.js").Replace(path)
}

// TestDescribedAnswers sends a request for each answer that docs/openapi.json
// describes. The answers are validated, and none that is described may be missing.
func TestDescribedAnswers(t *testing.T) {
	a := &answers{t: t, seen: map[string]bool{}}
	var described []string
	for path, item := range contractOf(t).Paths {
		for method, operation := range item.operations() {
			for status := range operation.Responses {
				described = append(described, method+" "+path+" "+status)
			}
		}
	}
	a.refused(described)
	a.good()
	a.faulty()
	for _, answer := range described {
		if !a.seen[answer] {
			t.Errorf("docs/openapi.json describes %s, which no request got", answer)
		}
	}
	for answer := range a.seen {
		if answer != "" && !slices.Contains(described, answer) {
			t.Errorf("docs/openapi.json does not describe %s", answer)
		}
	}
}

// refused requests each operation in the ways in which all are refused.
func (a *answers) refused(described []string) {
	signed := withTokens(a.t)
	signed.Repairs = &repair.Service{}
	limited := Options{MaxPerAddress: -1, Repairs: &repair.Service{}}
	unknown := limited
	unknown.Verify = func(context.Context, string) (*auth.Identity, error) { return nil, auth.ErrUnavailable }
	urls := map[string]string{}
	for name, opts := range map[string]Options{"signed": signed, "limited": limited, "unknown": unknown} {
		store := newMemory()
		s := &folded{t: a.t, store: store}
		s.message("m1", "hello", oneCall)
		url, stop := a.server(opts, store)
		defer stop()
		urls[name] = url
	}
	for _, d := range described {
		f := strings.Fields(d)
		method, path, status := f[0], fillPath(f[1]), f[2]
		if path == manySessions {
			path += "?session=s"
		}
		body := func() io.Reader {
			if strings.HasPrefix(path, "/v1/ag-ui/") {
				return strings.NewReader(`{"threadId":"t"}`)
			}
			if strings.HasSuffix(path, "/commands") {
				return strings.NewReader(`{"method":"run.start"}`)
			}
			return io.MultiReader(strings.NewReader(`{"token":"x","channels":["tools"],"messages":[]}`)) // of unknown length
		}
		switch {
		case status == "400" && path != "/v1/login":
			a.request(method, urls["signed"]+path, body(), "Authorization: Bearer x", "Authorization: Bearer y")
		case status == "400":
			a.request(method, urls["signed"]+path, strings.NewReader("x"))
		case status == "401":
			a.request(method, urls["signed"]+path, body())
		case status == "403":
			a.request(method, urls["signed"]+path, body(), "Host: evil.example.com")
		case status == "415":
			a.request(method, urls["signed"]+path, body(), "Content-Encoding: gzip")
		case status == "429":
			a.request(method, urls["limited"]+path, body(), "X-Forwarded-For: 192.0.2.1")
		case status == "503" && path != "/readyz":
			a.request(method, urls["unknown"]+path, body(), "Authorization: Bearer x")
		}
	}
}

// good requests each operation in the ways in which it succeeds.
func (a *answers) good() {
	store := newMemory()
	s := &folded{t: a.t, store: store}
	s.message("m1", "hello", oneCall)
	s.add(inputs.Result, `{"tool_call_id":"call_a","content":"4 °C"}`)
	store.info = []SessionInfo{{Session: "s", Last: at, Open: 1}}
	url, stop := a.server(Options{Heartbeat: time.Millisecond, Repairs: &repair.Service{}, Warnings: func() []string { return []string{"w"} }}, store)
	defer stop()
	run, args := "1.0", a.valueOf(store, events.ToolCallArgsComplete)
	event := "/v1/sessions/s/events/" + itoa(args)
	thread := "/v1/langgraph/threads/s"
	for _, path := range []string{
		"/v1/sessions", "/v1/events?session=s&types=tool_call_start", "/v1/sessions/s/events", "/v1/sessions/s/messages", "/v1/ai-sdk/s/stream", "/v1/ag-ui/s",
		thread, thread + "/state", thread + "/runs?limit=1", thread + "/runs/" + run, thread + "/runs/" + run + "/stream", "/metrics", "/healthz", "/readyz",
		"/v1/durable-streams/s", "/v1/durable-streams/s?offset=-1&live=sse", "/v1/durable-streams/s?offset=now", "/v1/durable-streams/s?offset=now&live=long-poll", "/v1/durable-streams/s?offset=0&live=long-poll",
		"/v1/sessions/x/events?protocol=ai-sdk", "/v1/ai-sdk/x/stream", "/v1/sessions/a%2Fb/events?last_event_id=0",
	} {
		a.request("GET", url+path, http.NoBody)
	}
	for _, path := range []string{event, event + "/args", "/v1/openapi.json", "/v1/events.schema.json", "/", "/app.js"} {
		for _, header := range []string{"X-A: b", "Range: bytes=0-0", "Range: bytes=99999999-", "If-None-Match: *", `If-Match: "x"`} {
			a.request("GET", url+path, http.NoBody, header)
		}
	}
	resp, _ := do(a.t, "GET", url+"/v1/durable-streams/s", "")
	a.request("GET", url+"/v1/durable-streams/s", http.NoBody, "If-None-Match: "+resp.Header.Get("ETag"))
	a.request("GET", url+thread+"/stream/events", http.NoBody)
	a.request("GET", url+thread+"/stream/events", http.NoBody, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
	for path, body := range map[string]string{
		"/v1/ag-ui/s": `{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":"a"}]}`, thread + "/history": "{}",
		thread + "/runs/" + run + "/cancel": "", thread + "/stream/events": `{"channels":["tools","lifecycle"]}`,
		thread + "/commands": `{"id":1,"method":"input.respond","params":{"interrupt_id":"1.0","response":true}}`,
		"/v1/ai-sdk/s":       `{"messages":[{"role":"assistant","parts":[{"type":"tool-f","toolCallId":"x","state":"output-available","output":1}]}]}`, "/v1/login": "",
		"/v1/repair": `{"messages":[{"role":"user","content":"a"}]}`, "/v1/sessions/s/interrupt": `{"run":"1.0","reason":"user"}`, "/v1/sessions/s/answer": `{"call":"1.0","decision":"approve"}`, "/v1/sessions/s/end": `{"reason":"completed"}`, "/v1/sessions/s/resume": `{}`,
		"/v1/sessions/s/deltas": "{}", "/v1/sessions/s/results": `{"tool_call_id":"x"}`, "/v1/sessions/s/progress": `{"tool_call_id":"x"}`,
	} {
		a.request("POST", url+path, strings.NewReader(body))
	}
	a.request("DELETE", url+"/v1/sessions/s", http.NoBody)
	for _, kind := range []string{"deltas", "results", "progress"} {
		a.request("PUT", url+"/v1/sessions/s/"+kind, io.MultiReader(strings.NewReader("{\"bad\":1}\n{}\n"))) // stored as it arrives
	}
}

// valueOf returns the sequence of the first event of a type.
func (a *answers) valueOf(store *memory, typ events.Type) int {
	for _, e := range store.log {
		if e.Type == typ {
			return int(e.Seq)
		}
	}
	a.t.Fatalf("the log has no %s", typ)
	return 0
}

// faulty requests operations in the ways in which they fail otherwise.
func (a *answers) faulty() {
	store := newMemory()
	store.some("s", 5)
	store.add("s", events.ToolCallResult, `{"tool_result_ref":{"size":1,"sha256":"x","preview":"","chunks":[]}}`)
	store.some("t", 20)
	store.add("u", events.ToolCallAwaiting, `{"call":"1.0","interrupt_id":"i"}`)
	store.add("u", events.ToolCallAnswered, `{"call":"1.0","decision":"deny"}`)
	store.forget(4)
	url, stop := a.server(Options{Shared: func(session string) bool { return session == "shared" }, MaxBody: 100, IngestIdle: time.Millisecond, Repairs: &repair.Service{MaxBytes: 100}}, store)
	defer stop()
	thread := "/v1/langgraph/threads/s"
	for _, path := range []string{
		"/v1/durable-streams/s?offset=1", "/v1/sessions/s/events?last_event_id=1", "/v1/events?pattern=*&last_event_id=1", "/v1/sessions/s/events/1", "/v1/sessions/s/events/1/args",
		"/v1/sessions/s/events/6/result", "/v1/sessions/t/messages", thread + "/runs/x", thread + "/runs/x/stream", "/nothing",
	} {
		a.request("GET", url+path, http.NoBody)
	}
	a.request("POST", url+"/v1/sessions/shared/interrupt", http.NoBody)
	bare, stopBare := validated(a.t, build(a.t, Options{}, store), a.add)
	defer stopBare()
	a.request("GET", bare+"/", http.NoBody)
	for path, size := range map[string]int{
		"/v1/ag-ui/s": agui.MaxHistory + 1, thread + "/stream/events": langgraph.MaxFilter + 1, thread + "/commands": langgraph.MaxFilter + 1, "/v1/ai-sdk/s": agui.MaxHistory + 1, "/v1/repair": 101, "/v1/sessions/s/interrupt": 101, "/v1/sessions/s/answer": 101, "/v1/sessions/s/end": 101, "/v1/sessions/s/resume": 101,
	} {
		a.request("POST", url+path, strings.NewReader(strings.Repeat(" ", size)))
	}
	for path, body := range map[string]string{
		"/v1/sessions/u/answer": `{"call":"1.0","decision":"approve"}`, "/v1/ag-ui/u": `{"resume":[{"interruptId":"i","payload":1}]}`,
		"/v1/ai-sdk/u":                     `{"messages":[{"role":"assistant","parts":[{"state":"approval-responded","approval":{"id":"i","approved":true}}]}]}`,
		"/v1/langgraph/threads/u/commands": `{"method":"input.respond","params":{"interrupt_id":"i","response":1}}`,
	} {
		a.request("POST", url+path, strings.NewReader(body))
	}
	a.request("POST", url+"/v1/repair", strings.NewReader(`{"messages":[1]}`))
	for _, kind := range []string{"deltas", "results", "progress"} {
		for _, method := range []string{"POST", "PUT"} {
			a.request(method, url+"/v1/sessions/s/"+kind, strings.NewReader(`{"a":"`+strings.Repeat("x", 200)+`"}`))
			silent, end := io.Pipe()
			a.request(method, url+"/v1/sessions/s/"+kind, silent)
			end.Close()
		}
	}
	store.breakDown()
	a.request("GET", url+"/readyz", http.NoBody)
	for _, path := range []string{"/v1/sessions", "/v1/sessions/s/events", "/v1/sessions/s/events/6"} {
		a.request("GET", url+path, http.NoBody)
	}
	a.request("POST", url+"/v1/sessions/s/deltas", strings.NewReader("{}"))
	a.request("POST", url+"/v1/sessions/s/deltas", io.MultiReader(strings.NewReader("{}\n")))
}

// brokenExchanges returns changes of an exchange, each of which breaks the description in
// one place.
func brokenExchanges() map[string]func(e *exchange) {
	return map[string]func(e *exchange){
		"status": func(e *exchange) { e.status = 418 },
		"field": func(e *exchange) {
			e.received.Reset()
			fmt.Fprint(&e.received, `[{"session":"s","last":"x","open":-1}]`)
		},
		"content type":   func(e *exchange) { e.Header().Set("Content-Type", "text/html") },
		"unknown header": func(e *exchange) { e.Header().Set("Streamer-New", "1") },
		"query":          func(e *exchange) { e.request.URL.RawQuery = "limit=0" },
	}
}

// changed returns an exchange after a change.
func changed(t *testing.T, change func(e *exchange)) (*Gateway, *exchange) {
	g := build(t, Options{}, newMemory())
	e := &exchange{ResponseWriter: httptest.NewRecorder(), request: httptest.NewRequest("GET", "/v1/sessions?limit=1", http.NoBody)}
	e.request.Host = "localhost"
	g.ServeHTTP(e, e.request)
	change(e)
	return g, e
}

// TestContractFails checks that the validation of the other tests reports faults.
func TestContractFails(t *testing.T) {
	for name, change := range brokenExchanges() {
		t.Run(name, func(t *testing.T) {
			g, e := changed(t, change)
			silent := &recordingTB{TB: t}
			if contractOf(t).check(silent, g, e); !silent.failed {
				t.Errorf("%s: the validation reports no fault", name)
			}
		})
	}
}

// recordingTB records that a test failed.
type recordingTB struct {
	testing.TB
	failed bool
}

// Errorf records a failure.
func (r *recordingTB) Errorf(string, ...any) { r.failed = true }
