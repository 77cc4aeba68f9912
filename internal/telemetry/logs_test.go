package telemetry

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	v1 "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"
)

// TestLogs checks the records that an OTLP receiver gets.
func TestLogs(t *testing.T) {
	received := make(chan *v1.ResourceLogs, 10)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var request collogs.ExportLogsServiceRequest
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/logs" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, logs := range request.ResourceLogs {
			received <- logs
		}
	}))
	defer s.Close()
	l, err := NewLogs(t.Context(), s.URL+"/v1/logs", func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(l).With().Timestamp().Logger()
	log.Warn().Str("session", "a").Int("partition", 3).Float64("share", 0.5).Bool("held", true).Strs("calls", []string{"1.0"}).Msg("partition failed")
	log.Error().Msg("stopped")
	l.Close(t.Context())
	close(received)
	var got []*v1.LogRecord
	for all := range received { // a slow machine sends each line by itself
		if name := all.Resource.Attributes[0]; name.Key != "service.name" || name.Value.GetStringValue() != "streamer" {
			t.Errorf("got the resource %v", all.Resource)
		}
		got = append(got, all.ScopeLogs[0].LogRecords...)
	}
	if len(got) != 2 {
		t.Fatalf("got %v, want two records", got)
	}
	first := got[0]
	if first.Body.GetStringValue() != "partition failed" || first.SeverityNumber != v1.SeverityNumber_SEVERITY_NUMBER_WARN || first.SeverityText != "warn" || first.TimeUnixNano == 0 {
		t.Errorf("got %v", first)
	}
	fields := map[string]string{}
	for _, a := range first.Attributes {
		fields[a.Key] = fmt.Sprintf("%T %[1]v", a.Value.Value)
	}
	want := map[string]string{
		"session": "*v1.AnyValue_StringValue &{a}", "partition": "*v1.AnyValue_IntValue &{3}", "share": "*v1.AnyValue_DoubleValue &{0.5}",
		"held": "*v1.AnyValue_BoolValue &{true}", "calls": `*v1.AnyValue_StringValue &{["1.0"]}`,
	}
	if !maps.Equal(fields, want) {
		t.Errorf("got %v, want %v", fields, want)
	}
	if got[1].SeverityNumber != v1.SeverityNumber_SEVERITY_NUMBER_ERROR {
		t.Errorf("got %v", got[1])
	}
}

// TestLogsRefused: an endpoint that refuses lines is reported, and delays nothing.
func TestLogsRefused(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	var failures []error
	l, err := NewLogs(t.Context(), s.URL, func(err error) { failures = append(failures, err) })
	if err != nil {
		t.Fatal(err)
	}
	log := zerolog.New(l)
	log.Info().Msg("lost")
	l.Close(t.Context())
	if len(failures) != 1 || !strings.Contains(failures[0].Error(), "404") {
		t.Errorf("got %v, want one failure", failures)
	}
}

// TestLogsEndpoint: no line is sent without an endpoint, and one that cannot be one is refused.
func TestLogsEndpoint(t *testing.T) {
	if l, err := NewLogs(t.Context(), "", nil); l != nil || err != nil {
		t.Errorf("got %v, %v", l, err)
	}
	if _, err := NewLogs(t.Context(), "collector:4318", nil); err == nil || !strings.Contains(err.Error(), "not a URL of http or https") {
		t.Errorf("got %v", err)
	}
}
