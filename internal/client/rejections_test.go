package client

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/events"
)

// TestRejections: each reason is printed once, with a count and its first line.
func TestRejections(t *testing.T) {
	var list []events.Event
	reject := func(line int, text string) {
		list = append(list, events.Event{Type: events.Rejected, Input: uint64(line), Reason: &events.Reason{Code: "bad_json", Text: text}, Offset: events.OffsetAt(4)})
	}
	reject(2, "wrong")
	reject(3, "other")
	reject(5, "wrong")
	reject(9, "wrong")
	for i := range 30 {
		reject(10+i, fmt.Sprint("reason ", i))
	}
	var out strings.Builder
	r := Rejections(list)
	PrintRejections(&out, r, "x: ")
	for _, want := range []string{
		"x: line 2, offset 4: bad_json: wrong (3 times, last in line 9)\n", "x: line 3, offset 4: bad_json: other\n",
		"x: line 27, offset 4: bad_json: reason 17\nx: 12 more rejections, for other reasons\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%swant %q in it", out.String(), want)
		}
	}
	if r.Count != 34 {
		t.Errorf("got %d rejections, want 34", r.Count)
	}
}
