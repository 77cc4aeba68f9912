package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"streamer/internal/decode"
	"streamer/internal/events"
	"streamer/internal/inputs"
	"streamer/internal/lifecycle"
	"streamer/internal/session"
)

// stream is a stream of a format: the inputs before its deltas, and deltas with texts
// of 4 bytes.
type stream struct {
	format         string
	before, deltas [][]byte
}

// streams returns the first stream in the test data of each format whose deltas repeat.
func streams(t testing.TB) (list []stream) {
	t.Helper()
	for _, format := range decode.Names() {
		data, err := os.ReadFile(filepath.Join("..", "..", "internal", "decode", "testdata", format, "deltas.txt"))
		if err != nil {
			continue // it has no such stream
		}
		text, _, _ := strings.Cut(string(data), "\n\n")
		lines := strings.Split(strings.TrimSpace(text), "\n")[1:]
		s := stream{format: format}
		for _, line := range lines[:len(lines)-1] {
			s.before = append(s.before, []byte(line))
		}
		delta := strings.NewReplacer("$N", "1", "$PAD", "").Replace(lines[len(lines)-1])
		for text := range strings.FieldsSeq("lore mips umdo lors itam etco nsec tetu") {
			quoted, _ := json.Marshal(text)
			s.deltas = append(s.deltas, []byte(strings.ReplaceAll(delta, "$TEXT", string(quoted))))
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		t.Fatal("no streams")
	}
	return list
}

// folding returns a function that decodes and folds the next delta, 25 ms later. A new
// session begins after 16 KiB of text.
func (s *stream) folding(t testing.TB) (next func()) {
	const perSession = 4096
	rules, header := lifecycle.DefaultRules(), inputs.Header{inputs.HeaderFormat: {s.format}}
	var reader decode.Reader
	var state session.State
	var out []events.Event
	at, seq, n := time.UnixMilli(0), uint64(0), 0
	fold := func(data []byte) {
		at, seq = at.Add(25*time.Millisecond), seq+1
		out = session.Fold(out[:0], &state, session.Input{Rules: &rules, Reader: &reader, Input: inputs.Input{
			Seq: seq, At: at, Token: "s", Kind: inputs.Delta, Header: header, Data: data,
		}})
		if len(out) > 0 && out[0].Type == events.Rejected {
			t.Fatalf("%s is rejected: %s", data, out[0].Reason.Text)
		}
	}
	return func() {
		if n%perSession == 0 {
			state = session.State{}
			for _, input := range s.before {
				fold(input)
			}
		}
		fold(s.deltas[n%len(s.deltas)])
		n++
	}
}

// learnsAfter is a number of deltas from which a new Reader makes no template.
const learnsAfter = 6

// reading returns a function that decodes the next delta without a fold. Without
// templates, a new Reader comes before the last one could make one.
func (s *stream) reading(t testing.TB, templates bool) (next func()) {
	var reader decode.Reader
	var state decode.State
	n := 0
	read := func(data []byte) (chunks int) {
		reader.Reset(&state, data, s.format, decode.Limits{})
		for reader.Next() {
			chunks += len(reader.Chunks())
		}
		return chunks
	}
	for _, input := range s.before {
		read(input)
	}
	return func() {
		if !templates && n%learnsAfter == 0 {
			reader = decode.Reader{}
		}
		if read(s.deltas[n%len(s.deltas)]) == 0 {
			t.Fatalf("%s has no chunk: %v", s.deltas[n%len(s.deltas)], reader.Problem())
		}
		n++
	}
}

// BenchmarkFormats measures one delta of each format: the decoder alone, with templates,
// and the whole fold with templates.
func BenchmarkFormats(b *testing.B) {
	for _, s := range streams(b) {
		for _, c := range []struct {
			name string
			next func()
		}{{"decoder", s.reading(b, false)}, {"template", s.reading(b, true)}, {"fold", s.folding(b)}} {
			b.Run(fmt.Sprintf("%s/%s", s.format, c.name), func(b *testing.B) {
				began, n := cpuTime(), 0
				b.SetBytes(int64(len(s.deltas[0])))
				for b.Loop() {
					c.next()
					n++
				}
				b.ReportMetric(float64(cpuTime()-began)/float64(n), "cpu-ns/delta")
			})
		}
	}
}
