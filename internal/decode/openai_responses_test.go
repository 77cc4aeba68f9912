package decode

import (
	"encoding/json"
	"testing"

	"streamer/internal/chunks"
	"streamer/internal/decode/langchain"
	"streamer/internal/jsonscan"
)

// FuzzNamedFormats reads events that the formats are told to be of: nothing
// panics, what is emitted says something, the memory stays bounded, and a copy
// of it keeps what it had.
func FuzzNamedFormats(f *testing.F) {
	names := []string{"openai-responses", "langgraph-protocol"}
	for i, name := range names {
		for _, events := range streams(f, name) {
			for j := range events {
				f.Add(events[max(0, j-1)], events[j], uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, first, second string, which uint8) {
		var m State
		var r Reader
		name := names[int(which)%len(names)]
		for _, input := range []string{first, second, first, second} {
			before := m.Clone()
			was, err := json.Marshal(before)
			if err != nil {
				t.Fatal(err)
			}
			r.Reset(&m, []byte(input), name, Limits{})
			for r.Next() {
				for _, c := range r.Chunks() {
					checkChunk(t, input, c)
				}
			}
			now, err := json.Marshal(before)
			if err != nil || string(now) != string(was) {
				t.Errorf("%s: %q: a copy of the memory was %s and is %s, %v", name, input, was, now, err)
			}
		}
		if n := len(decoderOf[*langchain.Decoder](&m).Streams.Open); n > 64 {
			t.Errorf("%q, %q: %d messages are remembered", first, second, n)
		}
		if n := len(decoderOf[*langchain.Decoder](&m).Streams.Failed); n > 64 {
			t.Errorf("%q, %q: %d calls are remembered", first, second, n)
		}
	})
}

func checkChunk(t *testing.T, input string, c chunks.Chunk) {
	t.Helper()
	switch {
	case c.Kind == chunks.Fragment && c.ID == "" && c.Name == "" && c.Args == "",
		c.Kind == chunks.Result && c.ID == "" && c.Call == "",
		(c.Kind == chunks.Text || c.Kind == chunks.Reasoning) && c.Text == "",
		c.Kind == chunks.Usage && c.Usage == "":
		t.Errorf("%q: %+v says nothing", input, c)
	}
}

// TestProtocolOverSSE: the server names its events after their methods, some
// of which are names of LangChain's too. Any of them may be the first.
func TestProtocolOverSSE(t *testing.T) {
	seen := 0
	for file, events := range streams(t, "langgraph-protocol") {
		for _, event := range events {
			method := jsonscan.ValueOf(event).Member("method").Str
			if method == "" {
				continue
			}
			seen++
			var m State
			var r Reader
			transcript(&r, &m, []byte("event: "+method+"\ndata: "+event+"\nid: 1\n\n"), "")
			if m.Format != "langgraph-protocol" {
				t.Errorf("%s: event named %q: %s\nrecognised as %q", file, method, event, m.Format)
			}
		}
	}
	if seen == 0 {
		t.Error("there is no event")
	}
}
