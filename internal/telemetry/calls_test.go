package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"streamer/internal/events"
	"streamer/internal/worker"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
)

// stored returns a stored event of call 1.0 of session s.
func stored(kind events.Type, status events.Status, body string, parent string) worker.Stored {
	e := worker.Stored{Session: "s", Type: kind, Call: "1.0", Status: status, Body: []byte(body), Took: time.Millisecond}
	if parent != "" {
		e.Trace = map[string]string{"traceparent": parent}
	}
	return e
}

// TestCalls checks the histograms after one call of each of three tools, of which two
// have labels.
func TestCalls(t *testing.T) {
	c := NewCalls(2)
	for _, tool := range []string{"a", "b", "c"} {
		c.EventStored(stored(events.ToolCallArgsComplete, "", `{"args_text":"{\"x\":1}"}`, ""))
		c.EventStored(stored(events.ToolCallResult, events.Completed, `{"tool_name":"`+tool+`","args_ms":40,"run_ms":700,"duration_ms":740}`, ""))
	}
	c.EventStored(stored(events.ToolCallArgsComplete, "", `{"args_ref":{"size":70000}}`, ""))
	c.EventStored(stored(events.ToolCallResult, events.Cancelled, `{"tool_name":"a","duration_ms":20}`, ""))
	c.EventStored(stored(events.ToolCallAwaiting, "", `{"timestamp":"2026-11-21T03:40:00Z"}`, ""))
	c.EventStored(stored(events.ToolCallAwaiting, "", `{"timestamp":"2026-11-21T03:40:10Z"}`, ""))
	c.EventStored(stored(events.ToolCallResult, events.Denied, `{"tool_name":"a","timestamp":"2026-11-21T03:41:30Z"}`, ""))
	c.SnapshotStored(time.Second)
	var text strings.Builder
	for _, name := range []string{"streamer_call_args_seconds", "streamer_call_args_bytes", "streamer_call_result_seconds", "streamer_call_wait_seconds", "streamer_call_duration_seconds"} {
		got, err := testutil.CollectAndFormat(c, expfmt.TypeTextPlain, name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(got)
	}
	for _, line := range []string{
		`streamer_call_args_seconds_bucket{status="completed",le="0.05"} 3`,
		`streamer_call_args_seconds_sum{status="completed"} 0.12`,
		`streamer_call_args_bytes_bucket{le="16"} 3`,
		`streamer_call_args_bytes_count 4`,
		`streamer_call_args_bytes_sum 70021`,
		`streamer_call_result_seconds_count{status="completed",tool="a"} 1`,
		`streamer_call_result_seconds_count{status="completed",tool="b"} 1`,
		`streamer_call_result_seconds_count{status="completed",tool="(other)"} 1`,
		`streamer_call_duration_seconds_count{status="cancelled"} 1`,
		`streamer_call_wait_seconds_sum{status="denied"} 90`,
	} {
		t.Run(fmt.Sprintf("%.60s", line), func(t *testing.T) {
			if !strings.Contains(text.String(), line+"\n") {
				t.Errorf("no line %s in\n%s", line, &text)
			}
		})
	}
	if strings.Contains(text.String(), `streamer_call_result_seconds_count{status="cancelled"`) {
		t.Error("a call without complete args has a result time")
	}
	if strings.Contains(text.String(), `streamer_call_wait_seconds_count{status="completed"`) {
		t.Error("a call that waited for nobody has a wait time")
	}
	if n := testutil.CollectAndCount(c, "streamer_event_append_seconds", "streamer_snapshot_write_seconds"); n != 2 {
		t.Errorf("%d histograms of the store, want 2", n)
	}
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
