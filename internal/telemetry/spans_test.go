package telemetry

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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

// TestSpansEndpoint: an endpoint that cannot be one is refused.
func TestSpansEndpoint(t *testing.T) {
	for _, url := range []string{"collector:4318", "ftp://collector", "http://", "%"} {
		if _, err := NewSpans(t.Context(), url, false, func(err error) { t.Error(err) }); err == nil || !strings.Contains(err.Error(), "not a URL of http or https") {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

// TestSpans checks the spans that an OTLP receiver gets.
func TestSpans(t *testing.T) {
	url, requests := receive(t)
	s, err := NewSpans(t.Context(), url, false, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	s.EventStored(stored(events.ToolCallStart, "", `{}`, parentOfCall))
	s.EventStored(stored(events.ToolCallAwaiting, "", `{"timestamp":"2026-11-21T03:40:53.530Z"}`, ""))
	s.EventStored(stored(events.ToolCallResult, events.Completed, `{"session":"s","id":"call_1","tool_name":"search","timestamp":"2026-11-21T03:40:53.540Z","duration_ms":40,"args_ms":15,"run_ms":25}`, parentOfResult))
	s.EventStored(stored(events.ToolCallResult, events.TimedOut, `{"tool_name":"late","synthetic":true,"timestamp":"2026-11-21T03:40:53.540Z","duration_ms":40,"reason":{"code":"result_timeout","text":"No result."}}`, parentOfResult))
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

// TestSpansOfRuns: spans of calls without a trace context are root spans in a trace of
// their run, which every process knows.
func TestSpansOfRuns(t *testing.T) {
	traces := map[string]string{}
	for process := range 2 {
		url, requests := receive(t)
		s, err := NewSpans(t.Context(), url, false, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{`"session":"s","run":"1.0"`, `"session":"s","run":"2.0"`, `"session":"t","run":"1.0"`} {
			s.EventStored(stored(events.ToolCallStart, "", `{}`, ""))
			s.EventStored(stored(events.ToolCallResult, events.Completed, `{"tool_name":"f",`+of+`}`, ""))
			s.EventStored(stored(events.ToolCallResult, events.Completed, `{"tool_name":"g",`+of+`}`, "00-xyz"))
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		spans := (<-requests).ResourceSpans[0].ScopeSpans[0].Spans
		if len(spans) != 6 {
			t.Fatalf("got %d spans, want 6: %v", len(spans), spans)
		}
		for i, span := range spans {
			run := fmt.Sprint(i / 2)
			if id := string(span.TraceId); traces[run] == "" {
				traces[run] = id
			} else if traces[run] != id || len(span.ParentSpanId) != 0 {
				t.Errorf("process %d, span %d: got the trace %x below %x, want %x below none", process, i, id, span.ParentSpanId, traces[run])
			}
			if attributeOf(span, "gen_ai.tool.call.result") != "" {
				t.Errorf("span %d has a result", i)
			}
		}
	}
	if len(traces) != 3 || traces["0"] == traces["1"] || traces["0"] == traces["2"] {
		t.Errorf("got the traces %x, want one for each run", traces)
	}
}

// TestSpansWithContent: spans have the first bytes of args and results if requested.
func TestSpansWithContent(t *testing.T) {
	url, requests := receive(t)
	s, err := NewSpans(t.Context(), url, true, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	s.EventStored(stored(events.ToolCallStart, "", `{}`, ""))
	s.EventStored(stored(events.ToolCallArgsComplete, "", `{"args_text":"{\"q\":1}"}`, ""))
	s.EventStored(stored(events.ToolCallResult, events.Completed, `{"session":"s","run":"1.0","tool_result":{"n":2}}`, ""))
	s.EventStored(stored(events.ToolCallArgsComplete, "", `{"args_ref":{"preview":"[1,2"}}`, ""))
	s.EventStored(stored(events.ToolCallResult, events.Completed, `{"session":"s","run":"1.0","tool_result":"`+strings.Repeat("é", maxContent)+`"}`, ""))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := (<-requests).ResourceSpans[0].ScopeSpans[0].Spans
	for i, want := range [][2]string{{`{"q":1}`, `{"n":2}`}, {"[1,2", strings.Repeat("é", maxContent/2)}} {
		if got := [2]string{attributeOf(spans[i], "gen_ai.tool.call.arguments"), attributeOf(spans[i], "gen_ai.tool.call.result")}; got != want {
			t.Errorf("span %d: got %.50q, want %.50q", i, got, want)
		}
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
