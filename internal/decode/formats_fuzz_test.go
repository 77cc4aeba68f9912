package decode

import (
	"testing"

	"streamer/internal/chunks"
)

// FuzzFormats reads two inputs in turn with the format named: no chunk is empty, and
// a clone of the state does not change.
func FuzzFormats(f *testing.F) {
	for _, name := range Names() {
		for _, events := range streams(f, name) {
			for j := range events {
				f.Add(events[max(0, j-1)], events[j], name)
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second, name string) {
		if find(name) == nil {
			return
		}
		var s State
		var r Reader
		for _, input := range []string{first, second, first, second} {
			clone := s.Clone()
			before := form(&clone)
			r.Reset(&s, []byte(input), name, Limits{})
			for r.Next() {
				for _, c := range r.Chunks() {
					checkChunk(t, input, c)
				}
			}
			if after := form(&clone); after != before {
				t.Errorf("%s: %q: a clone of the state was %q and is %q", name, input, before, after)
			}
		}
	})
}

// checkChunk reports a chunk that has no content.
func checkChunk(t *testing.T, input string, c chunks.Chunk) {
	t.Helper()
	switch {
	case c.Kind == chunks.Fragment && c.ID == "" && c.Name == "" && c.Args == "",
		c.Kind == chunks.Result && c.ID == "" && c.Call == "" && c.Name == "",
		(c.Kind == chunks.Text || c.Kind == chunks.Reasoning) && c.Text == "",
		c.Kind == chunks.Usage && c.Usage == "":
		t.Errorf("%q: %+v is empty", input, c)
	}
}

// TestClone checks that reading an input changes no clone of the state.
func TestClone(t *testing.T) {
	for _, format := range Names() {
		for file, events := range streams(t, format) {
			var s State
			var r Reader
			for i, event := range events {
				clone := s.Clone()
				before := form(&clone)
				transcript(&r, &s, []byte(event), "")
				if after := form(&clone); after != before {
					t.Fatalf("%s line %d\nthe clone was %q\n and became %q", file, i+1, before, after)
				}
			}
		}
	}
}
