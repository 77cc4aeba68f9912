package eventlog

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/broker"
	"streamer/internal/events"
	"streamer/internal/inputs"

	"github.com/nats-io/nats.go"
)

// An append has the event's id and call, the condition, and the trace context
// without values that are too long.
func TestEventPub(t *testing.T) {
	var l Log
	e := &events.Event{Type: events.Synthetic, EventID: events.ID{Seq: 7, N: 2}, Call: "5.0"}
	trace := map[string]string{"traceparent": "00-1", "tracestate": strings.Repeat("x", inputs.MaxTrace+1), "Nats-Msg-Id": "1"}
	p := l.EventPub("s", e, []byte("{}"), trace, 41)
	got := fmt.Sprint(p.Subject, p.Header)
	want := "_toolcalls.s.synthetic" + fmt.Sprint(nats.Header{
		broker.HeaderPrev:   {"41"},
		broker.HeaderPrevOf: {"toolcalls.s.>"},
		"Streamer-Call":     {"5.0"}, "Streamer-Event-Id": {"7.2"}, "traceparent": {"00-1"},
	})
	if got != want || string(p.Data) != "{}" {
		t.Errorf("got %s with body %s, want %s with {}", got, p.Data, want)
	}
}

func BenchmarkEventPub(b *testing.B) {
	var l Log
	e := &events.Event{Type: events.ToolCallArgsDelta, EventID: events.ID{Seq: 1234567, N: 2}, Call: "1234560.0"}
	body := []byte("{}")
	b.ReportAllocs()
	for b.Loop() {
		l.EventPub("customer-42-thread-7", e, body, nil, 7654321)
	}
}
