package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/events"
)

// TestDeltaInterval checks the time between two events about a text that grows by 4
// bytes in 10 ms, by the amount of text that was emitted before.
func TestDeltaInterval(t *testing.T) {
	grows, fixed, long := DefaultRules(), DefaultRules(), DefaultRules()
	fixed.DeltaEveryMax = 0
	long.DeltaEvery = 400
	for _, c := range []struct {
		name  string
		rules *Rules
		want  map[int]events.Time // the interval by steps of 2 KiB
	}{
		{"by default", &grows, map[int]events.Time{0: 50, 1: 100, 2: 150, 3: 200, 4: 250, 5: 250, 9: 250}},
		{"without a maximum", &fixed, map[int]events.Time{0: 50, 1: 50, 4: 50, 9: 50}},
		{"above the maximum", &long, map[int]events.Time{0: 400, 1: 400, 4: 400, 9: 400}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for kind, list := range map[string][]emitted{
				"args": emittedBy(c.rules, fragmentOf, 10, 5000), "text": emittedBy(c.rules, textOf, 10, 5000),
			} {
				if len(list) < 50 {
					t.Fatalf("%s, %s: only %d events", c.name, kind, len(list))
				}
				for i := 1; i < len(list); i++ {
					before, e := list[i-1], list[i]
					if want, ok := c.want[e.offset/(2<<10)]; ok && e.at-before.at != want {
						t.Fatalf("%s, %s: the event at offset %d comes %d ms after the one before it, want %d", c.name, kind, e.offset, e.at-before.at, want)
					}
				}
			}
		})
	}
}

// TestDeltaBytes checks that a text that arrives at once is emitted in pieces of 4 KiB
// by default.
func TestDeltaBytes(t *testing.T) {
	small := DefaultRules()
	small.DeltaBytes = 512
	byDefault := DefaultRules()
	for want, rules := range map[int]*Rules{4 << 10: &byDefault, 512: &small} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			for kind, list := range map[string][]emitted{
				"args": emittedBy(rules, fragmentOf, 0, 5000), "text": emittedBy(rules, textOf, 0, 5000),
			} {
				if len(list) < 4 {
					t.Fatalf("%s: only %d events", kind, len(list))
				}
				for _, e := range list[1:] { // the first is emitted at once
					if e.size != want {
						t.Errorf("%s: the event at offset %d has %d bytes, want %d", kind, e.offset, e.size, want)
					}
				}
			}
		})
	}
}

// emitted is an event about a text.
type emitted struct {
	at           events.Time
	offset, size int
}

// emittedBy returns the events about a text, of which n pieces come in an interval.
func emittedBy(r *Rules, piece func() chunks.Chunk, interval events.Time, n int) (list []emitted) {
	s := new(State)
	for i := range n {
		st := New(nil, s, r, "s", uint64(i+1), 1000+events.Time(i)*interval, false)
		st.Chunks([]chunks.Chunk{piece()})
		for _, e := range st.Done() {
			if e.Type == events.ToolCallArgsDelta || e.Type == events.AgentResponseChunk {
				list = append(list, emitted{e.Timestamp, e.Offset.Bytes(), len(e.Args) + len(e.Content)})
			}
		}
	}
	return list
}

func fragmentOf() chunks.Chunk {
	return chunks.Chunk{Kind: chunks.Fragment, Message: "m", Index: "0", ID: "a", Name: "f", Args: strings.Repeat("1", 4)}
}

func textOf() chunks.Chunk { return chunks.Chunk{Kind: chunks.Text, Message: "m", Text: "text"} }
