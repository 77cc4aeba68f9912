package agui

import (
	"fmt"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestStateIsBounded opens more items than the state stores and closes none.
func TestStateIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		event string
		size  func(*decoder) int
		want  int
	}{
		"calls":      {`{"type":"TOOL_CALL_START","toolCallId":"tc%[1]d","toolCallName":"f","parentMessageId":"m%[1]d"}`, func(d *decoder) int { return len(d.Items) }, maxItems},
		"texts":      {`{"type":"TEXT_MESSAGE_START","messageId":"m%[1]d","subagentRunId":"s%[1]d"}`, func(d *decoder) int { return len(d.Items) }, maxItems},
		"namespaces": {`{"type":"TEXT_MESSAGE_START","messageId":"m%[1]d","subagentRunId":"s%[1]d"}`, func(d *decoder) int { return len(d.Namespaces) }, maxNamespaces},
		"waiting":    {`{"type":"RUN_FINISHED","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i","toolCallId":"tc%d"}]}}`, func(d *decoder) int { return len(d.Waiting) }, maxWaiting},
	} {
		t.Run(name, func(t *testing.T) {
			d := new(decoder)
			for i := range c.want + 10 {
				if _, problem := decode(d, fmt.Sprintf(c.event, i)); problem != nil {
					t.Fatalf("%s: %s", name, problem.Text)
				}
			}
			if got := c.size(d); got != c.want {
				t.Errorf("%s: %d are stored, want %d", name, got, c.want)
			}
		})
	}
}

// decode returns the chunks of an event.
func decode(d *decoder, event string) ([]chunks.Chunk, *wire.Problem) {
	var w wire.Writer
	problem := d.Decode(&w, wire.Frame{JSON: jsonscan.ValueOf(event)})
	return w.Chunks(), problem
}
