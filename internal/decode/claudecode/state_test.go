package claudecode

import (
	"fmt"
	"testing"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestStateIsBounded reads more subagents and open calls than the state holds. The
// newest are kept, and so is the message of the root.
func TestStateIsBounded(t *testing.T) {
	var d Decoder
	read := func(line string) {
		if p := d.Decode(new(wire.Writer), wire.Frame{JSON: jsonscan.ValueOf(line)}); p != nil {
			t.Fatalf("%s: %v", line, p.Text)
		}
	}
	const call = `{"type":"assistant","message":{"id":"m%d","content":[{"type":"tool_use","id":"c%d","name":"f","input":{}}]},"parent_tool_use_id":%s}`
	read(fmt.Sprintf(call, -1, -1, "null"))
	for i := range maxOpen + 10 {
		read(fmt.Sprintf(call, i, i, fmt.Sprintf(`"p%d"`, i)))
	}
	if len(d.Below) != maxBelow || len(d.Open) != maxOpen || d.Root.Blocks.Message != "m-1" {
		t.Errorf("%d subagents, %d open calls, message %q of the root; want %d, %d, m-1", len(d.Below), len(d.Open), d.Root.Blocks.Message, maxBelow, maxOpen)
	}
	if last := maxOpen + 9; d.known(fmt.Sprintf("p%d", last)) == nil || d.find(fmt.Sprintf("c%d", last)) == nil || d.find("c0") != nil {
		t.Error("the newest are not kept, or the oldest are")
	}
}
