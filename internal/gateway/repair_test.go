package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/repair"
)

const (
	repairHistory = "[ {\"role\":\"user\", \"content\":\"<&> \\u003c \\ud800\"},\n {\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"x\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}"
	repairResult  = "{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":%}"
	repairUnknown = `"Tool call f with id x was interrupted: no result was recorded. It may or may not have run."`
)

// oneEvent is a log with one event of session "a b".
type oneEvent string

func (l oneEvent) Events(_ context.Context, token string, _ uint64, fn func(events.Record) error) error {
	if token != "a=20b" {
		return nil
	}
	if l == "" {
		return io.ErrUnexpectedEOF
	}
	return fn(events.Record{Seq: 1, Type: events.ToolCallResult, Data: []byte(l)})
}

func (l oneEvent) Event(context.Context, string, uint64) (events.Record, error) {
	return events.Record{Data: []byte(l)}, nil
}

func (l oneEvent) Blob(context.Context, events.Ref) ([]byte, error) { return nil, events.ErrNotFound }

// TestRepair checks the answers to repairs.
func TestRepair(t *testing.T) {
	log := oneEvent(`{"type":"tool_call_result","event_id":"1.0","call":"1.0","id":"x","tool_name":"f","status":"completed","tool_result":"<42>"}`)
	url := serve(t, Options{Repairs: &repair.Service{Log: log, MaxBytes: 1000}}, newMemory()) + "/v1/repair"
	broken := serve(t, Options{Repairs: &repair.Service{Log: oneEvent("")}}, newMemory()) + "/v1/repair"
	for _, c := range []struct {
		name, url, body string
		status          int
		want            string // beginning of the answer, or a part of the refusal
	}{
		{
			"a dangling call", url, `{"messages":` + repairHistory + `]}`, 200,
			`{"messages":` + repairHistory + ",\n " + strings.Replace(repairResult, "%", repairUnknown, 1) + `],"report":{"format":"openai","patched":true,"sendable":true,"in":2,"out":3,`,
		},
		{
			"with a session", url, `{"session":"a b","format":"openai","messages":` + repairHistory + `]}`, 200,
			`{"messages":` + repairHistory + ",\n " + strings.Replace(repairResult, "%", `"<42>"`, 1) + `],"report":`,
		},
		{"nothing to repair", url, `{"messages":[ ] }`, 200, `{"messages":[ ],"report":{"format":`},
		{"the steps", url, `{"options":{"output":"ops"},"messages":` + repairHistory + `]}`, 200, `{"ops":[{"copy":[0,2]},{"insert":{"role":"tool"`},
		{"not JSON", url, `{"messages":[}`, 400, `{"error":"the request is not JSON: invalid character '}' looking for beginning of value at byte 13"}`},
		{"an invalid option", url, `{"messages":[],"options":{"late":"never"}}`, 400, `option late`},
		{"an invalid session", url, `{"messages":[],"session":"` + strings.Repeat(".", 300) + `"}`, 400, `session: `},
		{"not a history", url, `{"messages":[1]}`, 422, `message 0 (byte 1) is a number, not an object`},
		{"too large", url, `{"messages":["` + strings.Repeat("a", 1000) + `"]}`, 413, `the request has more than 1000 bytes`},
		{"a log that fails", broken, `{"session":"a b","messages":` + repairHistory + `]}`, 503, `the logs cannot be reached`},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, body := do(t, "POST", c.url, c.body)
			if resp.StatusCode != c.status || !strings.Contains(body, c.want) || c.status == 200 && !strings.HasPrefix(body, c.want) {
				t.Errorf("%s:\n got  %d %s\n want %d %s", c.name, resp.StatusCode, body, c.status, c.want)
			}
			if got := resp.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("%s: content type %q", c.name, got)
			}
		})
	}
}

// TestRepairNeedsAccess checks that a repair needs the token, because it can read a
// session's results, and that the path does not exist without a service.
func TestRepairNeedsAccess(t *testing.T) {
	opts := Options{Token: "0123456789abcdef", Repairs: &repair.Service{}}
	url := serve(t, opts, newMemory()) + "/v1/repair"
	none := serve(t, Options{}, newMemory()) + "/v1/repair"
	for _, c := range []struct {
		name, method, url, header string
		status                    int
	}{
		{"no token", "POST", url, "A: b", 401},
		{"another token", "POST", url, "Authorization: Bearer fedcba9876543210", 401},
		{"the token", "POST", url, "Authorization: Bearer 0123456789abcdef", 200},
		{"another site", "POST", url, "Origin: https://evil.example", 403},
		{"another method", "GET", url, "Authorization: Bearer 0123456789abcdef", 405},
		{"no service", "POST", none, "A: b", 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			if resp, body := do(t, c.method, c.url, `{"messages":[]}`, c.header); resp.StatusCode != c.status {
				t.Errorf("%s: got %d %s, want %d", c.name, resp.StatusCode, body, c.status)
			}
		})
	}
}

// TestRepairUnsized checks the size limit of a body without a Content-Length.
func TestRepairUnsized(t *testing.T) {
	url := serve(t, Options{Repairs: &repair.Service{MaxBytes: 1000}}, newMemory()) + "/v1/repair"
	for _, c := range []struct{ size, status int }{{500, 200}, {5000, 413}} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			body := `{"messages":[{"role":"user","content":"` + strings.Repeat("a", c.size) + `"}]}`
			req, err := http.NewRequestWithContext(t.Context(), "POST", url, io.MultiReader(strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if got, _ := io.ReadAll(resp.Body); resp.StatusCode != c.status || req.ContentLength > 0 {
				t.Errorf("%d bytes: got %d %s, want %d", c.size, resp.StatusCode, got, c.status)
			}
		})
	}
}

// TestRepairBusy checks that concurrent histories are limited, and that a request
// which waits too long is refused.
func TestRepairBusy(t *testing.T) {
	service := &repair.Service{MaxBytes: 1 << 20, MaxAtOnce: 1 << 20, Wait: 100 * time.Millisecond}
	url := serve(t, Options{Repairs: service}, newMemory()) + "/v1/repair"
	leave, err := service.Enter(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	resp, body := do(t, "POST", url, `{"messages":[]}`)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "try again") {
		t.Errorf("busy: got %d %s, Retry-After %q", resp.StatusCode, body, resp.Header.Get("Retry-After"))
	}
	leave()
	if resp, body := do(t, "POST", url, `{"messages":[]}`); resp.StatusCode != 200 {
		t.Errorf("after the other request: got %d %s", resp.StatusCode, body)
	}
}
