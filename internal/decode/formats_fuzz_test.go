package decode

import (
	"testing"

	"streamer/internal/chunks"
)

// FuzzFormats reads two inputs in turn with the format named: no chunk is empty.
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
			r.Reset(&s, []byte(input), name, Limits{})
			for r.Next() {
				for _, c := range r.Chunks() {
					checkChunk(t, input, c)
				}
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
