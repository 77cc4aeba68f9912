package gateway

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
)

// TestMetricText checks the text format with everything that needs escaping.
func TestMetricText(t *testing.T) {
	for _, c := range []struct {
		name string
		m    Metric
		want string
	}{
		{"a gauge", Number("a_b", "What it is.", 3), "# HELP a_b What it is.\n# TYPE a_b gauge\na_b 3\n"},
		{"a counter", Number("a_total", "", uint64(1<<53)), "# HELP a_total \n# TYPE a_total counter\na_total 9007199254740992\n"},
		{"labels", Metric{"x", "h", []Sample{{"p", "0", 1.5}, {"p", "1", math.Inf(1)}}}, "# HELP x h\n# TYPE x gauge\nx{p=\"0\"} 1.5\nx{p=\"1\"} +Inf\n"},
		{"escapes", Metric{"x", "a\\b\nc \"d\"", []Sample{{"p", "a\\b\nc \"d\"", 0}}}, "# HELP x a\\\\b\\nc \"d\"\n# TYPE x gauge\nx{p=\"a\\\\b\\nc \\\"d\\\"\"} 0\n"},
		{"no samples", Metric{Name: "x", Help: "h"}, ""},
	} {
		if got := string(appendMetric(nil, c.m)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestMetrics checks the gateway's own metrics and additional ones.
func TestMetrics(t *testing.T) {
	store := newMemory()
	url := serve(t, Options{Metrics: func(context.Context) []Metric { return []Metric{Number("other_total", "More.", 7)} }}, store)
	openStream(t, url+"/v1/sessions/s/events").want("stream.open", "stream.live")
	do(t, "POST", url+"/v1/sessions/s/end", "")
	do(t, "GET", url+"/nothing", "")
	do(t, "GET", url+"/nothing", "")
	resp, body := do(t, "GET", url+"/metrics", "")
	if got, want := resp.Header.Get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8"; resp.StatusCode != http.StatusOK || got != want {
		t.Errorf("got %d, %q, want 200, %q", resp.StatusCode, got, want)
	}
	for _, line := range []string{
		"# TYPE streamer_http_requests_total counter", `streamer_http_requests_total{status="202"} 1`, `streamer_http_requests_total{status="404"} 2`,
		"streamer_sse_clients 1", "streamer_sse_slow_disconnects_total 0", "other_total 7",
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("got\n%s\nwithout %q", body, line)
		}
	}
}

// TestMetricsNeedAccess checks that metrics are protected like events.
func TestMetricsNeedAccess(t *testing.T) {
	url := serve(t, Options{Token: "0123456789abcdef"}, newMemory()) + "/metrics"
	for _, c := range []struct {
		header string
		status int
	}{
		{"Accept: */*", 401},
		{"Authorization: Bearer 0123456789abcdef", 200},
		{"Host: evil.example.com", 403},
	} {
		if resp, body := do(t, "GET", url, "", c.header); resp.StatusCode != c.status {
			t.Errorf("%s: got %d %s, want %d", c.header, resp.StatusCode, body, c.status)
		}
	}
}
