package responses

import (
	"fmt"
	"testing"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestCallsAreBounded begins more calls than the state stores.
func TestCallsAreBounded(t *testing.T) {
	d := new(decoder)
	events := []string{`{"type":"response.created","response":{"id":"r"}}`}
	for i := range 2 * maxCalls {
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%[1]d,"item":{"type":"function_call","id":"fc%[1]d","call_id":"c%[1]d","name":"f","arguments":""}}`, i))
	}
	for _, event := range events {
		if problem := d.Decode(new(wire.Writer), wire.Frame{JSON: jsonscan.ValueOf(event)}); problem != nil {
			t.Fatal(problem.Text)
		}
	}
	if n := len(d.Calls); n != maxCalls {
		t.Errorf("%d calls are stored, want %d", n, maxCalls)
	}
}
