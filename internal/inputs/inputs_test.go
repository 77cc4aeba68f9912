package inputs

import (
	"fmt"
	"maps"
	"testing"
)

func TestOfSession(t *testing.T) {
	for kind, want := range map[Kind]bool{
		Delta: true, Result: true, Progress: true, Interrupt: true, End: true, Clock: true,
		Rules: false, Probe: false, "": false, "Delta": false, "delta.x": false,
	} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			if got := kind.OfSession(); got != want {
				t.Errorf("kind %q: got %v, want %v", kind, got, want)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		header Header
		want   string
	}{
		{nil, ""},
		{Header{HeaderFormat: nil}, ""},
		{Header{HeaderFormat: {"openai", "anthropic"}}, "openai"},
		{Header{"streamer-format": {"openai"}}, ""},
	} {
		t.Run(fmt.Sprint(c.header), func(t *testing.T) {
			in := Input{Header: c.header}
			if got := in.Format(); got != c.want {
				t.Errorf("%v: got %q, want %q", c.header, got, c.want)
			}
		})
	}
}

// An event takes over the trace context, and nothing else that a client sets.
func TestTrace(t *testing.T) {
	for _, c := range []struct {
		header Header
		want   map[string]string
	}{
		{nil, nil},
		{Header{"Nats-Msg-Id": {"1"}, HeaderFormat: {"openai"}, "baggage": {"a=b"}}, nil},
		{Header{"traceparent": {"00-1"}}, map[string]string{"traceparent": "00-1"}},
		{Header{"traceparent": {"00-1"}, "tracestate": {"a=b"}}, map[string]string{"traceparent": "00-1", "tracestate": "a=b"}},
		{Header{"traceparent": {"00-1", "00-2"}, "tracestate": {}}, nil},
	} {
		t.Run(fmt.Sprint(c.header), func(t *testing.T) {
			in := Input{Header: c.header}
			if got := in.Trace(); !maps.Equal(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("%v: got %v, want %v", c.header, got, c.want)
			}
		})
	}
}
