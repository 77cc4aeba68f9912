package compare

import (
	"encoding/json"
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

// BenchmarkFormats measures decoding and folding of one delta of each format whose
// deltas repeat, 25 ms apart. A new session begins after 16 KiB of text.
func BenchmarkFormats(b *testing.B) {
	for _, format := range decode.Names() {
		before, delta := deltaOf(b, format)
		if delta == "" {
			continue
		}
		b.Run(format, func(b *testing.B) { foldDeltas(b, format, before, delta) })
	}
}

// deltaOf returns the first stream in the test data of a format: the inputs before the
// delta, and the delta with $TEXT in place of its text. It returns no delta for a format
// without such a stream.
func deltaOf(b *testing.B, format string) (before [][]byte, delta string) {
	b.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "decode", "testdata", format, "deltas.txt"))
	if err != nil {
		return nil, ""
	}
	stream, _, _ := strings.Cut(string(data), "\n\n")
	lines := strings.Split(strings.TrimSpace(stream), "\n")[1:]
	for _, line := range lines[:len(lines)-1] {
		before = append(before, []byte(line))
	}
	return before, strings.ReplaceAll(lines[len(lines)-1], "$N", "1")
}

// foldDeltas folds deltas with texts of 4 bytes.
func foldDeltas(b *testing.B, format string, before [][]byte, delta string) {
	const perSession = 4096
	var deltas [][]byte
	for text := range strings.FieldsSeq("lore mips umdo lors itam etco nsec tetu") {
		quoted, _ := json.Marshal(text)
		deltas = append(deltas, []byte(strings.ReplaceAll(delta, "$TEXT", string(quoted))))
	}
	rules, header := lifecycle.NewRules(), inputs.Header{inputs.HeaderFormat: {format}}
	var reader decode.Reader
	var s session.State
	var out []events.Event
	at, seq := time.UnixMilli(0), uint64(0)
	fold := func(data []byte) {
		at, seq = at.Add(25*time.Millisecond), seq+1
		out = session.Fold(out[:0], &s, session.Input{Rules: &rules, Reader: &reader, Input: inputs.Input{
			Seq: seq, At: at, Token: "s", Kind: inputs.Delta, Header: header, Data: data,
		}})
	}
	began, n := cpuTime(), 0
	b.SetBytes(int64(len(deltas[0])))
	for b.Loop() {
		if n%perSession == 0 {
			s = session.State{}
			for _, input := range before {
				fold(input)
			}
		}
		fold(deltas[n%len(deltas)])
		if len(out) > 0 && out[0].Type == events.Rejected {
			b.Fatalf("%s is rejected: %s", deltas[0], out[0].Reason.Text)
		}
		n++
	}
	b.ReportMetric(float64(cpuTime()-began)/float64(n), "cpu-ns/delta")
}
