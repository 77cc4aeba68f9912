package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"streamer/internal/broker/brokertest"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestTraces checks the span of a call that is sent to a receiver: it belongs to the
// trace of the delta that started the call.
func TestTraces(t *testing.T) {
	names := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		req := new(coltrace.ExportTraceServiceRequest)
		if err := proto.Unmarshal(body, req); err != nil {
			t.Error(err)
			return
		}
		for _, s := range req.ResourceSpans[0].ScopeSpans[0].Spans {
			names <- s.Name + " of span " + string(s.ParentSpanId)
		}
	}))
	t.Cleanup(receiver.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100") // ms from a span to its export
	_, api := running(t)
	const start = `{"id":"m","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	for path, body := range map[string]string{"deltas": start, "results": `{"tool_call_id":"call_a","content":"ok"}`} {
		req, err := http.NewRequestWithContext(brokertest.Deadline(t), "POST", api+"sessions/s/"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-"+map[string]string{"deltas": "6161616161616161", "results": "6262626262626262"}[path]+"-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			t.Fatalf("%s: status %d", path, resp.StatusCode)
		}
	}
	select {
	case got := <-names:
		if want := "execute_tool f of span aaaaaaaa"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	case <-brokertest.Deadline(t).Done():
		t.Fatal("no span arrived")
	}
}
