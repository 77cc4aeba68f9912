package vercelui

import (
	"fmt"
	"testing"

	"streamer/internal/decode/wire"
	"streamer/internal/jsonscan"
)

// TestPartsAreBounded opens more content parts than the state stores and closes
// none.
func TestPartsAreBounded(t *testing.T) {
	d := new(decoder)
	for i := range 3 * maxParts {
		event := fmt.Sprintf(`{"type":"text-start","id":"%d"}`, i)
		if problem := d.Decode(new(wire.Writer), wire.Frame{JSON: jsonscan.ValueOf(event)}); problem != nil {
			t.Fatal(problem.Text)
		}
	}
	if n := len(d.Parts); n != maxParts {
		t.Errorf("%d parts are stored, want %d", n, maxParts)
	}
}
