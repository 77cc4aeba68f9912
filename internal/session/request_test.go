package session

import (
	"strings"
	"testing"

	"streamer/internal/events"
	"streamer/internal/inputs"
)

// TestLongRequest checks that a question whose request is longer than an event may be is
// asked without it, and that this is reported.
func TestLongRequest(t *testing.T) {
	for size, want := range map[int][]events.Type{100: {events.ToolCallAwaiting}, 40_000: {events.ToolCallAwaiting, events.Rejected}} {
		var l log
		l.add(inputs.Delta, 0, `{"type":"start","messageId":"m"}`)
		l.add(inputs.Delta, 1, `{"type":"tool-input-available","toolCallId":"c","toolName":"f","input":{}}`)
		l.add(inputs.Delta, 2, `{"type":"tool-approval-request","toolCallId":"c","approvalId":"p","inputSchemaInput":"`+strings.Repeat("x", size)+`"}`)
		var got []events.Type
		for _, e := range eventsOf(l) {
			if e.EventID.Seq == 3 {
				got = append(got, e.Type)
			}
			if e.Type == events.ToolCallAwaiting && (len(e.Request) == 0) != (len(want) == 2) {
				t.Errorf("%d bytes: the request is %.80s", size, e.Request)
			}
			if e.Type == events.Rejected && e.Reason.Code != events.OverLimit {
				t.Errorf("%d bytes: %+v", size, e.Reason)
			}
		}
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("%d bytes: got %v, want %v", size, got, want)
		}
	}
}
