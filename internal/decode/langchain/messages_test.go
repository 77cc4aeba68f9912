package langchain

import (
	"fmt"
	"testing"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestMessagesAreBounded begins more messages than the state stores.
func TestMessagesAreBounded(t *testing.T) {
	d := new(decoder)
	for i := range 2 * maxStreamed {
		for _, event := range []string{
			fmt.Sprintf(`{"type":"AIMessageChunk","id":"m%d","content":"x","tool_call_chunks":[]}`, i),
			fmt.Sprintf(`["messages/partial",[{"type":"ai","id":"p%d","content":"x","tool_call_chunks":[]}]]`, i),
		} {
			if problem := d.Decode(new(wire.Writer), wire.Frame{JSON: jsonscan.ValueOf(event)}); problem != nil {
				t.Fatal(problem.Text)
			}
		}
	}
	if n := len(d.Messages.Streamed); n != maxStreamed {
		t.Errorf("%d streamed messages are stored, want %d", n, maxStreamed)
	}
	if n := len(d.Messages.Partial); n != maxPartials {
		t.Errorf("%d growing messages are stored, want %d", n, maxPartials)
	}
}
