package telemetry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"streamer/internal/events"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	parentOfCall   = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parentOfResult = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
)

// receive runs an OTLP receiver and returns its URL and what it receives.
func receive(t *testing.T) (url string, requests <-chan *coltrace.ExportTraceServiceRequest) {
	got := make(chan *coltrace.ExportTraceServiceRequest, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := new(coltrace.ExportTraceServiceRequest)
		if err == nil {
			err = proto.Unmarshal(body, req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		got <- req
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1/traces", got
}

// TestSpans checks the spans that an OTLP receiver gets.
func TestSpans(t *testing.T) {
	url, requests := receive(t)
	s, err := NewSpans(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	s.EventStored(stored(events.ToolCallStart, "", `{}`, parentOfCall))
	s.EventStored(stored(events.ToolCallAwaiting, "", `{"timestamp":"2026-11-21T03:40:53.530Z"}`, ""))
	s.EventStored(stored(events.ToolCallResult, events.Completed, `{"session":"s","id":"call_1","tool_name":"search","timestamp":"2026-11-21T03:40:53.540Z","duration_ms":40,"args_ms":15,"run_ms":25}`, parentOfResult))
	s.EventStored(stored(events.ToolCallResult, events.TimedOut, `{"tool_name":"late","synthetic":true,"timestamp":"2026-11-21T03:40:53.540Z","duration_ms":40,"reason":{"code":"result_timeout","text":"No result."}}`, parentOfResult))
	s.EventStored(stored(events.ToolCallResult, events.Completed, `{"tool_name":"untraced"}`, ""))
	s.EventStored(stored(events.ToolCallResult, events.Completed, `{"tool_name":"malformed"}`, "00-xyz"))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	resource := (<-requests).ResourceSpans[0]
	spans := resource.ScopeSpans[0].Spans
	if len(spans) != 2 {
		t.Fatalf("got %d spans, want 2: %v", len(spans), spans)
	}
	first, second := spans[0], spans[1]
	if first.Name != "execute_tool search" || parent(first) != parentOfCall {
		t.Errorf("got span %q below %s", first.Name, parent(first))
	}
	end := time.Date(2026, 11, 21, 3, 40, 53, 540e6, time.UTC)
	if first.StartTimeUnixNano != nano(end.Add(-40*time.Millisecond)) || first.EndTimeUnixNano != nano(end) {
		t.Errorf("got a span from %d to %d", first.StartTimeUnixNano, first.EndTimeUnixNano)
	}
	if e := first.Events; len(e) != 2 || e[0].Name != "args_complete" || e[0].TimeUnixNano != nano(end.Add(-25*time.Millisecond)) ||
		e[1].Name != "awaiting_input" || e[1].TimeUnixNano != nano(end.Add(-10*time.Millisecond)) {
		t.Errorf("got the events %v", e)
	}
	for key, want := range map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.id": "call_1", "gen_ai.conversation.id": "s"} {
		if got := attributeOf(first, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if parent(second) != parentOfResult || second.Status.GetCode() != v1.Status_STATUS_CODE_ERROR || attributeOf(second, "error.type") != "result_timeout" {
		t.Errorf("got span %v", second)
	}
}

// parent returns the header traceparent that names the parent of a span.
func parent(s *v1.Span) string {
	for _, header := range []string{parentOfCall, parentOfResult} {
		c := remoteSpan(header, "")
		id, span := c.TraceID(), c.SpanID()
		if slices.Equal(s.TraceId, id[:]) && slices.Equal(s.ParentSpanId, span[:]) {
			return header
		}
	}
	return ""
}

func nano(at time.Time) uint64 { return uint64(at.UnixNano()) }

func attributeOf(s *v1.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}
