package gateway

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestMetrics checks the gateway's own metrics and additional ones.
func TestMetrics(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{Metrics: func(context.Context) []Metric { return []Metric{Number("other_total", "More.", 7)} }}, store)
	openStream(t, url+"/v1/sessions/s/events").want("stream.open", "stream.live")
	do(t, "POST", url+"/v1/sessions/s/end", "")
	do(t, "GET", url+"/nothing", "")
	do(t, "GET", url+"/nothing", "")
	resp, body := do(t, "GET", url+"/metrics", "")
	if got, want := resp.Header.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"; resp.StatusCode != http.StatusOK || got != want {
		t.Errorf("got %d, %q, want 200, %q", resp.StatusCode, got, want)
	}
	if !regexp.MustCompile(`\nstreamer_sse_sent_bytes_total [1-9][0-9]{2,}\n`).MatchString(body) {
		t.Errorf("got\n%s\nwithout the bytes of the stream", body)
	}
	for _, line := range []string{
		"# TYPE streamer_http_requests_total counter", `streamer_http_requests_total{status="202"} 1`, `streamer_http_requests_total{status="404"} 2`,
		"streamer_sse_clients 1", "streamer_sse_slow_disconnects_total 0", "streamer_http_auth_refusals_total 0", "other_total 7", "# TYPE go_info gauge", "# TYPE process_open_fds gauge",
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("got\n%s\nwithout %q", body, line)
		}
	}
}

// TestMetricsNeedAccess checks that metrics are protected like events.
func TestMetricsNeedAccess(t *testing.T) {
	base := serve(t, Options{Token: "0123456789abcdef", MetricsToken: "metrics-metrics-"}, newMemory())
	url := base + "/metrics"
	for _, c := range []struct {
		header string
		status int
	}{
		{"Accept: */*", 401},
		{"Authorization: Bearer 0123456789abcdef", 200},
		{"Authorization: Bearer metrics-metrics-", 200},
		{"Host: evil.example.com", 403},
	} {
		t.Run(c.header, func(t *testing.T) {
			if resp, body := do(t, "GET", url, "", c.header); resp.StatusCode != c.status {
				t.Errorf("%s: got %d %s, want %d", c.header, resp.StatusCode, body, c.status)
			}
		})
	}
	for _, path := range []string{"/v1/sessions/s/events", "/v1/events", "/v1/sessions"} {
		if resp, body := do(t, "GET", base+path, "", "Authorization: Bearer metrics-metrics-"); resp.StatusCode != 401 {
			t.Errorf("%s with the token for metrics: got %d %s, want 401", path, resp.StatusCode, body)
		}
	}
	resp, _ := do(t, "POST", base+"/v1/login", `{"token":"metrics-metrics-"}`)
	if resp.StatusCode != 401 || len(resp.Cookies()) > 0 {
		t.Errorf("login with the token for metrics: got %d and %d cookies, want 401 and none", resp.StatusCode, len(resp.Cookies()))
	}
}
