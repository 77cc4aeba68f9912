package decode

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"streamer/internal/decode/framing"
	"streamer/internal/decode/wire"
)

// FuzzReader reads anything, in two inputs.
func FuzzReader(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 64<<10 {
			f.Add(string(data), len(data)/3)
		}
	}
	f.Add("event: a\r\ndata: {\"choices\":[]}\r\n\r\ndata: [DONE]\n\n", 20)
	f.Fuzz(func(t *testing.T, data string, cut int) {
		cut = max(0, min(cut, len(data)))
		const limit = 1 << 10
		var m State
		var r Reader
		for _, input := range []string{data[:cut], data[cut:]} {
			events, before := 0, kept(&m)+early(&m)
			r.Reset(&m, []byte(input), "", Limits{Event: limit})
			for r.Next() {
				if events++; events > len(input)+before+2 {
					t.Fatalf("input %q gives more events than it has bytes", input)
				}
				if p := r.Problem(); p != nil && (p.Text == "" || !utf8.ValidString(p.Text) || p.Offset < 0 || p.Offset > len(input)+before || len(p.Text) > 4<<10) {
					t.Fatalf("input %q: problem %+v", input, p)
				}
			}
			if n := kept(&m) + len(pending(&m).Name); n > limit+lineLimit+wire.MaxID {
				t.Fatalf("input %q: %d bytes are kept", input, n)
			}
			if r.Next() {
				t.Fatalf("input %q: another event behind the end", input)
			}
		}
	})
}

// FuzzCuts cuts SSE text of two events at two places.
func FuzzCuts(f *testing.F) {
	f.Add("x", uint16(3), uint16(5), uint8(0))
	f.Add("data: {\"a\":1}\n\n😀\"", uint16(30), uint16(40), uint8(3))
	names := []string{"plain", "no gap", "CRLF", "CR", "comment", "split"}
	f.Fuzz(func(t *testing.T, content string, a, b uint16, framing uint8) {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		frame := framings[names[int(framing)%len(names)]]
		whole := frame(0, `{"id":"c","choices":[{"delta":{"content":`+string(text)+`}}]}`) +
			frame(1, `{"id":"c","choices":[{"delta":{},"finish_reason":"stop"}],"usage":{}}`) + frame(2, "[DONE]")
		i, j := min(int(a), len(whole)), min(int(b), len(whole))
		i, j = min(i, j), max(i, j)
		got, want := readAll(t, whole[:i], whole[i:j], whole[j:]), readAll(t, whole)
		if problemFree(got) != problemFree(want) || strings.Contains(got, "problem") {
			t.Errorf("%q | %q | %q\n got %s\nwant %s", whole[:i], whole[i:j], whole[j:], got, want)
		}
	})
}

// lineLimit is the maximum number of bytes that are kept of a line without its data.
const lineLimit = 4 << 10

// kept returns the number of bytes of the event that is cut.
func kept(s *State) int {
	n := len(pending(s).Data) + len(pending(s).Line)
	c := s.Cut
	if c == nil {
		return n
	}
	if c.JSON != nil {
		n += len(c.JSON.Text)
	}
	if c.Frame != nil {
		n += len(c.Frame.Data)
	}
	if c.Code != nil {
		n += len(c.Code.Text)
	}
	return n
}

// early returns the number of problems that wait for the format.
func early(s *State) int {
	if s.Cut == nil {
		return 0
	}
	return len(s.Cut.Early)
}

// pending returns the event that is cut, or an empty one.
func pending(s *State) *framing.SSE {
	if s.SSE == nil {
		return new(framing.SSE)
	}
	return s.SSE
}
